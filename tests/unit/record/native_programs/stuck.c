/* A library whose loading never ends: its thread holds the dynamic loader's lock for ever. */
#include <unistd.h>

__attribute__((constructor)) static void stay(void)
{
    for (;;)
        pause();
}
