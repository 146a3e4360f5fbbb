/* A refusal: its record in the guard's file, and the word to Python.
 *
 * Python code is run only for refusals to NumPy, which allocates where any Python code may run. The interpreter's own
 * objects may be half changed when it allocates. What it raises then has no words. Up to Python 3.11 the class of it is a
 * variable, which is lent a class that finds the words when the exception is made, and that gives the variable back;
 * later versions take a ready-made exception, which gets its words when a handler has caught it. The functions of Python
 * are found at the start, so that no lock of the loader is taken with the GIL held.
 */
#define _GNU_SOURCE
#include "airbag.h"

#include <dlfcn.h>
#include <string.h>

#define GUARD_MODULE "_crashcart_guard"
#define TELL_NUMPY "refused"
#define TELL_HANDLER "explain"
#define COLLECT "collect"
#define LENT_CLASS "RefusedError"
#define FIRST_READY_MADE 0x030c0000 /* Python 3.12 */

static struct {
    int (*Py_IsInitialized)(void);
    int (*PyGILState_Check)(void);
    void *(*PyGILState_GetThisThreadState)(void);
    int (*PyGILState_Ensure)(void);
    void (*PyGILState_Release)(int);
    void *(*PySys_GetObject)(const char *);              /* borrowed, NULL instead of a fatal error */
    void *(*PyDict_GetItemString)(void *, const char *); /* borrowed */
    void *(*PyObject_GetAttrString)(void *, const char *);
    void *(*PyObject_CallObject)(void *, void *);
    void (*PyErr_Fetch)(void **, void **, void **);
    void (*PyErr_Restore)(void *, void *, void *);
    void (*Py_DecRef)(void *);
    int (*Py_AddPendingCall)(int (*)(void *), void *);
    void *(*PyErr_Occurred)(void);
    int (*PyErr_ExceptionMatches)(void *);
    void (*PyErr_SetInterrupt)(void);
    void **PyExc_Exception;
    void **PyExc_MemoryError;
    const unsigned long *Py_Version; /* since 3.11 */
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
                   FIND(PyErr_Fetch) && FIND(PyErr_Restore) && FIND(Py_DecRef) && FIND(Py_AddPendingCall) &&
                   FIND(PyExc_MemoryError) && FIND(PyExc_Exception) && FIND(PyErr_Occurred) &&
                   FIND(PyErr_ExceptionMatches) && FIND(PyErr_SetInterrupt) && FIND(PyGILState_GetThisThreadState) &&
                   FIND(PyGILState_Ensure) && FIND(PyGILState_Release);
    FIND(Py_Version);
}

/* Something of our module inside; a reference, or NULL. Looking it up runs no Python code. */
static void *ours(const char *name)
{
    void *modules = python.PySys_GetObject("modules");
    void *module = modules != NULL ? python.PyDict_GetItemString(modules, GUARD_MODULE) : NULL;
    return module != NULL ? python.PyObject_GetAttrString(module, name) : NULL;
}

static void call_ours(const char *name)
{
    void *function = ours(name);
    if (function == NULL)
        return;
    python.Py_DecRef(python.PyObject_CallObject(function, NULL)); /* of NULL: nothing */
    python.Py_DecRef(function);
}

static void lend_class(const char *name)
{
    void *lent = ours(name);
    if (lent != NULL)
        *python.PyExc_MemoryError = lent; /* the reference is never given back: the class stays */
}

static void with_errors_kept(void (*act)(const char *), const char *name)
{
    static __attribute__((tls_model("initial-exec"))) __thread bool acting;
    void *type, *value, *traceback;
    if (acting)
        return;
    acting = true;
    python.PyErr_Fetch(&type, &value, &traceback);
    act(name);
    /* What the act has raised is dropped; an interrupt that a handler raised meanwhile is not ours to drop. */
    if (python.PyErr_Occurred() != NULL && !python.PyErr_ExceptionMatches(*python.PyExc_Exception))
        python.PyErr_SetInterrupt();
    python.PyErr_Restore(type, value, traceback);
    acting = false;
}

/* NumPy lets go of the GIL while it asks for zeroes. */
static void with_gil(const char *name)
{
    if (python.PyGILState_GetThisThreadState() == NULL)
        return; /* not a thread of Python's */
    int state = python.PyGILState_Ensure();
    with_errors_kept(call_ours, name);
    python.PyGILState_Release(state);
}

#define COLLECT_AGAIN_AFTER_NS 2000000000

/* What a failed step held is often held by cycles of references. NumPy allocates where the collector may run anyway. */
bool collect_garbage(void)
{
    static _Atomic int64_t last_ns;
    int64_t now = now_ns(), last = atomic_load(&last_ns);
    if (!python_known || !python.Py_IsInitialized() || (last != 0 && now - last < COLLECT_AGAIN_AFTER_NS) ||
        !atomic_compare_exchange_strong(&last_ns, &last, now))
        return false;
    with_gil(COLLECT);
    return true;
}

static int tell_handler(void *unused)
{
    (void)unused;
    with_errors_kept(call_ours, TELL_HANDLER);
    return 0;
}

static void tell_python(enum caller caller)
{
    if (!python_known || !python.Py_IsInitialized())
        return;
    if (caller == CALLER_NUMPY)
        with_gil(TELL_NUMPY);
    else if (!python.PyGILState_Check())
        return;
    else if (python.Py_Version != NULL && *python.Py_Version >= FIRST_READY_MADE)
        python.Py_AddPendingCall(tell_handler, NULL);
    else
        with_errors_kept(lend_class, LENT_CLASS);
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
    if (caller != CALLER_OTHER)
        tell_python(caller);
}
