/* No Python interpreter: the airbag stays out of it. */
#include "guard_file.h"

int main(void)
{
    open_shared();
    LEFT = 0;
    SQUEEZE = 1;
    void *block = malloc(MIB), *small = malloc(100);
    CHECK(block != NULL && small != NULL && LEFT == 0 && NET == 0 && IN_AIRBAG == 0 && slot_of(getpid()) == NULL);
    free(block);
    free(realloc(small, MIB));
    return 0;
}
