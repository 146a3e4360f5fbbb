/* A stand-in for the NVIDIA driver's libnvidia-ml.so.1: the functions that nvidia-ml-py calls for us, with figures from
   the file named by STAND_IN_NVML, read anew at each call. One line per device: total, free, PID=BYTES,… (or `-` for
   nobody; `-` for bytes that are not told), compute capability (7.5 where it is left out), name. Without the file the driver is not there, or no longer.
   STAND_IN_DRIVER is its version; STAND_IN_ERROR a number of NVML with which it refuses to start (18: its library and its
   kernel module differ). OLD_DRIVER leaves the newest list of processes out. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15 };
enum { MOST_LINE = 1024 };

typedef struct { unsigned long long total, free, used; } memory_v1;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2;
typedef struct { unsigned pid; unsigned long long bytes; unsigned gpu_instance, compute_instance; } process;
typedef struct { unsigned long long total, free; int major, minor; char held[MOST_LINE], name[MOST_LINE]; } figures;

static int started;

/* The number of devices, and the figures of one of them; -1 where there is no file. */
static int read_figures(int wanted, figures *found) {
    const char *path = getenv("STAND_IN_NVML");
    FILE *stream = path ? fopen(path, "r") : NULL;
    char line[MOST_LINE];
    int count = 0;
    if (!stream) return -1;
    while (fgets(line, sizeof line, stream)) {
        figures here;
        here.major = 7, here.minor = 5;
        if (sscanf(line, "%llu %llu %1023s %d.%d %1023[^\n]", &here.total, &here.free, here.held, &here.major, &here.minor,
                   here.name) != 6 &&
            sscanf(line, "%llu %llu %1023s %1023[^\n]", &here.total, &here.free, here.held, here.name) != 4) continue;
        if (count++ == wanted && found) *found = here;
    }
    fclose(stream);
    return count;
}

static int ask(void *device, figures *found) {
    int index = (int)(intptr_t)device - 1, count = read_figures(index, found);
    if (!started) return 1;
    return count < 0 || index >= count ? GPU_IS_LOST : SUCCESS;
}

int nvmlInitWithFlags(unsigned flags) {
    const char *refused = getenv("STAND_IN_ERROR");
    (void)flags;
    if (refused) return atoi(refused);
    if (read_figures(0, NULL) < 0) return DRIVER_NOT_LOADED;
    started++;
    return SUCCESS;
}
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return started ? (started--, SUCCESS) : 1; }

const char *nvmlErrorString(int result) { return result == SUCCESS ? "Success" : "an error of the stand-in"; }

int nvmlSystemGetDriverVersion(char *text, unsigned length) {
    const char *version = getenv("STAND_IN_DRIVER");
    snprintf(text, length, "%s", version ? version : "550.54.15");
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    int found = read_figures(0, NULL);
    *count = found < 0 ? 0 : (unsigned)found;
    return found < 0 ? GPU_IS_LOST : SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = (void *)(intptr_t)(index + 1);
    return (int)index < read_figures(0, NULL) ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetName(void *device, char *text, unsigned length) {
    figures found;
    int result = ask(device, &found);
    if (result == SUCCESS) snprintf(text, length, "%s", found.name);
    return result;
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    figures found;
    int result = ask(device, &found);
    if (result == SUCCESS) *major = found.major, *minor = found.minor;
    return result;
}

int nvmlDeviceGetMemoryInfo(void *device, memory_v1 *memory) {
    figures found;
    int result = ask(device, &found);
    if (result == SUCCESS) *memory = (memory_v1){found.total, found.free, found.total - found.free};
    return result;
}

int nvmlDeviceGetMemoryInfo_v2(void *device, memory_v2 *memory) {
    figures found;
    int result = ask(device, &found);
    if (result == SUCCESS) {
        memory->total = found.total, memory->free = found.free;
        memory->reserved = 0, memory->used = found.total - found.free;
    }
    return result;
}

int nvmlDeviceGetComputeRunningProcesses_v2(void *device, unsigned *count, process *processes) {
    figures found;
    unsigned room = *count, seen = 0;
    int result = ask(device, &found);
    if (result != SUCCESS) return result;
    for (char *each = strtok(found.held, ","); each && strcmp(each, "-"); each = strtok(NULL, ",")) {
        char *bytes = strchr(each, '=');
        if (bytes && processes && seen < room)
            processes[seen] = (process){(unsigned)atol(each), bytes[1] == '-' ? ~0ULL : strtoull(bytes + 1, NULL, 10), 0, 0};
        seen += bytes != NULL;
    }
    *count = seen;
    return seen > room ? INSUFFICIENT_SIZE : SUCCESS;
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(void *device, unsigned *count, process *processes) {
    (void)processes;
    *count = 0;
    return ask(device, &(figures){0});
}

#ifndef OLD_DRIVER
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, process *processes) {
    return nvmlDeviceGetComputeRunningProcesses_v2(device, count, processes);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count, process *processes) {
    return nvmlDeviceGetGraphicsRunningProcesses_v2(device, count, processes);
}
#endif
