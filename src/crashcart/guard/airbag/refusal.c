/* A refusal: its record in the guard's file, and the word to Python.
 *
 * Python is told only of refusals to NumPy: NumPy allocates where any Python code may run. The interpreter's own
 * objects may be half changed when it allocates. The functions of Python are found at the start, so that no lock of the
 * loader is taken with the GIL held.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <dlfcn.h>
#include <string.h>

#define GUARD_MODULE "_crashcart_guard"
#define GUARD_FUNCTION "refused"

static struct {
    int (*Py_IsInitialized)(void);
    int (*PyGILState_Check)(void);
    void *(*PySys_GetObject)(const char *);              /* borrowed, NULL instead of a fatal error */
    void *(*PyDict_GetItemString)(void *, const char *); /* borrowed */
    void *(*PyObject_GetAttrString)(void *, const char *);
    void *(*PyObject_CallObject)(void *, void *);
    void (*PyErr_Fetch)(void **, void **, void **);
    void (*PyErr_Restore)(void *, void *, void *);
    void (*Py_DecRef)(void *);
} python;

static bool python_known;

static bool find(void *slot, const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    memcpy(slot, &function, sizeof function);
    return function != NULL;
}

#define FIND(name) find(&python.name, #name)

void refusal_start(void)
{
    python_known = FIND(Py_IsInitialized) && FIND(PyGILState_Check) && FIND(PySys_GetObject) &&
                   FIND(PyDict_GetItemString) && FIND(PyObject_GetAttrString) && FIND(PyObject_CallObject) &&
                   FIND(PyErr_Fetch) && FIND(PyErr_Restore) && FIND(Py_DecRef);
}

static void call_refused(void)
{
    void *modules = python.PySys_GetObject("modules");
    void *module = modules != NULL ? python.PyDict_GetItemString(modules, GUARD_MODULE) : NULL;
    void *function = module != NULL ? python.PyObject_GetAttrString(module, GUARD_FUNCTION) : NULL;
    if (function == NULL)
        return;
    python.Py_DecRef(python.PyObject_CallObject(function, NULL)); /* of NULL: nothing */
    python.Py_DecRef(function);
}

static void tell_python(void)
{
    static __attribute__((tls_model("initial-exec"))) __thread bool telling;
    void *type, *value, *traceback;
    if (telling || !python_known || !python.Py_IsInitialized() || !python.PyGILState_Check())
        return;
    telling = true;
    python.PyErr_Fetch(&type, &value, &traceback);
    call_refused();
    python.PyErr_Restore(type, value, traceback); /* drops what the call has raised */
    telling = false;
}

static void record(size_t size, const char *who)
{
    uint64_t number = atomic_fetch_add(&guard->refused_count, 1) + 1;
    struct refusal *refusal = &guard->refusals[(number - 1) % REFUSALS];
    atomic_store(&refusal->number, 0);
    refusal->size_bytes = (int64_t)size;
    refusal->left_bytes = atomic_load(&guard->left);
    refusal->monotonic_ns = now_ns();
    refusal->pid = getpid();
    refusal->tid = (int32_t)syscall(SYS_gettid);
    memcpy(refusal->who, who, sizeof refusal->who);
    atomic_store(&refusal->number, number);
}

void refuse(size_t size, enum caller caller, const char *who)
{
    record(size, who);
    if (caller == CALLER_NUMPY)
        tell_python();
}
