/* A library whose loading never ends: its thread holds the dynamic loader's lock for ever. */
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void stay(void)
{
    if (write(atoi(getenv("STUCK_FD")), "x", 1) == 1)
        for (;;)
            pause();
}
