/* The crash file: what a dying process says about its end, in lines of text.
 *
 *    crashcart-crash 1
 *    pid N, tid N, signal N, code N        code is si_code
 *    address 0x…                           of a fault, where the kernel gives it
 *    sender PID                            of a signal that was sent (abort sends to itself)
 *    sp 0x…, ip 0x…                        on machines whose registers we can name
 *    stack 0xLOW 0xHIGH                    of the main thread, if it is the one that dies
 *    mapping PATH                          of the file, if the address of the fault is in the mapping of one
 *    instruction HEX                       the bytes at ip, where there are any
 *    abort-message TEXT                    of the C library
 *    frames                                then one frame a line, innermost first, as backtrace_symbols_fd prints them
 *    end
 *
 * Each line is a line of its own above; a file without `end` was cut short. Written with nothing but plain system
 * calls, except for the frames, which therefore come last.
 */
#define _GNU_SOURCE
#include "recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define FRAMES_WRITTEN 64
#define FRAMES_OF_HANDLER 8
#define INSTRUCTION_BYTES 15 /* the longest instruction of x86 */
#define MESSAGE_BYTES 1024
#define PID_SUFFIX_BYTES 12

#if defined(__x86_64__)
#define IP(context) (context)->uc_mcontext.gregs[REG_RIP]
#define SP(context) (context)->uc_mcontext.gregs[REG_RSP]
#elif defined(__aarch64__)
#define IP(context) (context)->uc_mcontext.pc
#define SP(context) (context)->uc_mcontext.sp
#endif

/* What glibc leaves behind before it aborts. */
struct abort_message {
    unsigned int size;
    char text[];
};

/* Set when armed. */
static char crash_path[PATH_MAX];
static pid_t armed_pid;
static uintptr_t main_stack_low, main_stack_high;
static struct abort_message **abort_message;
static int (*find_frames)(void **, int);
static void (*write_frames)(void *const *, int, int);

/* Used in the crash, by one thread alone; static, since the alternate signal stack is small. */
static volatile int crash_fd = -1;
static void *frames[FRAMES_OF_HANDLER + FRAMES_WRITTEN];
static char text[MESSAGE_BYTES];

/* The interrupted code: its registers where the kernel saved them, and what they held. */
static struct {
    ucontext_t *context;
    bool known; /* false on machines whose registers we cannot name */
    uintptr_t ip, sp;
} interrupted;

static void put(const char *words) { write_fully(crash_fd, words, strlen(words)); }

/* The number as text that ends where the buffer ends. */
static char *digits(uintptr_t number, unsigned base, char *last)
{
    *last = '\0';
    do
        *--last = "0123456789abcdef"[number % base];
    while ((number /= base) > 0);
    return last;
}

static void put_number(const char *label, uintptr_t number, unsigned base)
{
    char buffer[24];
    put(label);
    put(digits(number, base, buffer + sizeof buffer - 1));
}

static void put_decimal(const char *label, long number)
{
    put(label);
    put_number(number < 0 ? " -" : " ", (uintptr_t)(number < 0 ? -number : number), 10);
    put("\n");
}

static void put_address(const char *label, uintptr_t address)
{
    put(label);
    put_number(" 0x", address, 16);
    put("\n");
}

/* Read memory that may not be there. */
static ssize_t peek(uintptr_t address, void *into, size_t length)
{
    struct iovec here = {into, length}, there = {(void *)address, length};
    ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (got > 0)
        return got;
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC); /* some sandboxes forbid process_vm_readv */
    if (fd < 0)
        return -1;
    got = pread(fd, into, length, (off_t)address);
    close(fd);
    return got;
}

static void read_registers(ucontext_t *context)
{
    interrupted.context = context;
#ifdef IP
    interrupted.known = true;
    interrupted.ip = (uintptr_t)IP(context);
    interrupted.sp = (uintptr_t)SP(context);
#endif
}

static void set_registers(uintptr_t ip, uintptr_t sp)
{
#ifdef IP
    IP(interrupted.context) = (__typeof__(IP(interrupted.context)))ip;
    SP(interrupted.context) = (__typeof__(SP(interrupted.context)))sp;
#endif
    (void)ip, (void)sp;
}

/* After a call of an address without code: make it look, to the unwinder, as if the call had just returned. */
static uintptr_t undo_call(void)
{
    uintptr_t caller = 0;
#if defined(__x86_64__)
    if (peek(interrupted.sp, &caller, sizeof caller) == sizeof caller)
        set_registers(caller, interrupted.sp + sizeof caller);
#elif defined(__aarch64__)
    caller = interrupted.context->uc_mcontext.regs[30];
    set_registers(caller, interrupted.sp);
#endif
    return caller;
}

static void open_crash_file(void)
{
    char buffer[PID_SUFFIX_BYTES];
    if (getpid() != armed_pid) { /* a forked child must not overwrite its parent's file; there is room for this */
        strcat(crash_path, "-");
        strcat(crash_path, digits((uintptr_t)getpid(), 10, buffer + sizeof buffer - 1));
    }
    crash_fd = open(crash_path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
}

static void put_signal(int number, const siginfo_t *info)
{
    put("crashcart-crash 1\n");
    put_decimal("pid", getpid());
    put_decimal("tid", own_tid());
    put_decimal("signal", number);
    put_decimal("code", info->si_code);
    if (info->si_code <= 0)
        put_decimal("sender", info->si_pid);
    else if (info->si_code != SI_KERNEL) /* a protection fault comes without its address: 0 would be a lie */
        put_address("address", (uintptr_t)info->si_addr);
}

static void put_stack(void)
{
    if (interrupted.known) {
        put_address("sp", interrupted.sp);
        put_address("ip", interrupted.ip);
    }
    if (main_stack_high == 0 || getpid() != armed_pid || own_tid() != armed_pid)
        return;
    put_number("stack 0x", main_stack_low, 16);
    put_address("", main_stack_high);
}

/* If the line of /proc/self/maps covers the address: its file, which begins at the first slash. */
static const char *mapped_file(const char *line, uintptr_t address)
{
    uintptr_t bounds[2] = {0, 0};
    for (int i = 0; i < 2; i++, line++)
        for (; *line != '\0' && strchr("0123456789abcdef", *line) != NULL; line++)
            bounds[i] = bounds[i] * 16 + (uintptr_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
    return bounds[0] <= address && address < bounds[1] ? strchr(line, '/') : NULL;
}

static void put_mapping(uintptr_t address)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t got;
    while (fd >= 0 && (got = read(fd, text + length, sizeof text - 1 - length)) > 0) {
        length += (size_t)got;
        text[length] = '\0';
        char *line = text, *end;
        for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            const char *file = mapped_file(line, address);
            if (file != NULL) {
                put("mapping ");
                put(file);
                put("\n");
            }
        }
        length -= (size_t)(line - text);
        if (length == sizeof text - 1) /* a path too long for the buffer */
            length = 0;
        memmove(text, line, length);
    }
    if (fd >= 0)
        close(fd);
}

/* False where the instruction pointer leads nowhere. */
static bool put_instruction(void)
{
    unsigned char bytes[INSTRUCTION_BYTES];
    ssize_t got = interrupted.known ? peek(interrupted.ip, bytes, sizeof bytes) : -1;
    if (got <= 0)
        return false;
    put("instruction ");
    for (ssize_t i = 0; i < got; i++)
        put((char[]){"0123456789abcdef"[bytes[i] >> 4], "0123456789abcdef"[bytes[i] & 15], '\0'});
    put("\n");
    return true;
}

static void put_abort_message(void)
{
    const struct abort_message *message = abort_message != NULL ? *abort_message : NULL;
    ssize_t got = message == NULL ? 0 : peek((uintptr_t)message->text, text, sizeof text - 1);
    size_t length = got > 0 ? strnlen(text, (size_t)got) : 0;
    while (length > 0 && text[length - 1] == '\n')
        length--;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ')
            text[i] = ' ';
    text[length] = '\0';
    if (length == 0)
        return;
    put("abort-message ");
    put(text);
    put("\n");
}

/* The frames from the interrupted one outwards; where the unwinder does not come across it, all of them. */
static void put_frames(bool has_instruction)
{
    put("frames\n");
    if (find_frames == NULL || write_frames == NULL)
        return;
    uintptr_t start = interrupted.ip;
    if (interrupted.known && !has_instruction) {
        write_frames((void *const *)&interrupted.ip, 1, crash_fd);
        start = undo_call();
    }
    int count = find_frames(frames, FRAMES_OF_HANDLER + FRAMES_WRITTEN), first = 0;
    while (first < count && (uintptr_t)frames[first] != start)
        first++;
    if (first == count)
        first = 0;
    write_frames(frames + first, count - first < FRAMES_WRITTEN ? count - first : FRAMES_WRITTEN, crash_fd);
}

void crash_file_write(int number, const siginfo_t *info, ucontext_t *context)
{
    read_registers(context);
    open_crash_file();
    if (crash_fd < 0)
        return;
    put_signal(number, info);
    put_stack();
    if (info->si_code > 0 && info->si_code != SI_KERNEL)
        put_mapping((uintptr_t)info->si_addr);
    bool has_instruction = put_instruction();
    put_abort_message();
    put_frames(has_instruction);
    put("end\n");
}

void crash_file_close(void)
{
    if (interrupted.known)
        set_registers(interrupted.ip, interrupted.sp);
    if (crash_fd >= 0)
        close(crash_fd);
    crash_fd = -1;
}

static void *look_up(const char *name) { return dlsym(RTLD_DEFAULT, name); }

static void learn_main_stack(void)
{
    int (*get_attributes)(pthread_t, pthread_attr_t *) = look_up("pthread_getattr_np");
    int (*get_stack)(const pthread_attr_t *, void **, size_t *) = look_up("pthread_attr_getstack");
    pthread_attr_t attributes;
    main_stack_high = 0;
    if (own_tid() != getpid() || get_attributes == NULL || get_stack == NULL ||
        get_attributes(pthread_self(), &attributes) != 0)
        return;
    void *low;
    size_t size;
    if (get_stack(&attributes, &low, &size) == 0) {
        main_stack_low = (uintptr_t)low;
        main_stack_high = (uintptr_t)low + size;
    }
    pthread_attr_destroy(&attributes);
}

bool crash_file_prepare(const char *path, size_t length)
{
    if (length == 0 || length + PID_SUFFIX_BYTES > sizeof crash_path) {
        errno = length == 0 ? EINVAL : ENAMETOOLONG;
        return false;
    }
    memcpy(crash_path, path, length);
    crash_path[length] = '\0';
    armed_pid = getpid();
    abort_message = look_up("__abort_msg");
    find_frames = look_up("backtrace");
    write_frames = look_up("backtrace_symbols_fd");
    if (find_frames != NULL)
        find_frames(frames, 1); /* the first call loads the unwinder, which allocates */
    learn_main_stack();
    return true;
}
