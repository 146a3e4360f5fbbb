/* A tokeniser whose tables are filled when it is imported. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <immintrin.h>

static long table[512];

static void fill_table(void) {
    for (int i = 0; i < 512; i += 8)
        _mm512_storeu_si512((void *)(table + i), _mm512_set1_epi64(i * 31));
}

static PyObject *token(PyObject *self, PyObject *argument) {
    (void)self;
    long value = PyLong_AsLong(argument);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(table[value & 511]);
}

static PyMethodDef methods[] = {{"token", token, METH_O, "The token of a code point."}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fasttok", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_fasttok(void) {
    fill_table();
    return PyModule_Create(&module);
}
