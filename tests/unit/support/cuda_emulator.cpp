/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/cuda_emulator.h"

/* How kernels run; the runtime is in cuda_emulator_runtime.cpp. */

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

tp_emulated_place tp_emulated;

void tp_emulate_die(const char *what)
{
    std::fprintf(stderr, "cuda emulator: %s (block %u, thread %u)\n", what,
                 tp_emulated.block.x, tp_emulated.thread.x);
    std::abort();
}

namespace {

enum { WARP = 32 };
const size_t stack_bytes = 64 << 10;

struct warp {
    uint64_t arrived;             /* in all operations so far              */
    const char *kind[2];          /* of the last two                       */
    uint64_t value[2][WARP];
};

/* A thread that has begun. */
struct thread {
    unsigned number;
    uint64_t warp_steps, barriers; /* it has been at                        */
};

/*
 * Fibres begin by setcontext and then change places by the compiler's own
 * jumps: swapcontext asks the kernel for the signal mask each time, and
 * longjmp may be checked for going up one stack only.
 */
typedef void *jump_buffer[5];

struct fibre {
    ucontext_t context;
    bool begun;
    jump_buffer at;
    std::unique_ptr<char[]> stack;
    thread *running;               /* nullptr: idle                          */
};

/* The block under way. Kernels run one at a time, under the lock. */
struct runner {
    const std::function<void()> *body;
    unsigned threads, next;        /* thread to begin                        */
    uint64_t arrived;              /* at barriers so far                     */
    warp warps[TP_EMULATED_THREADS / WARP];
    thread thread_of[TP_EMULATED_THREADS];
    std::vector<std::unique_ptr<fibre>> fibres;
    fibre *current;
    jump_buffer scheduler;
    uint64_t progress;
};

runner run;

void place(const thread *t)
{
    tp_emulated.thread = dim3(t->number);
}

/* Sanitizers take a jump for the end of a stack; these only leave it. */
#define UNCHECKED __attribute__((noinline, no_sanitize("address")))

[[noreturn]] UNCHECKED void jump(void **to)
{
    __builtin_longjmp(to, 1);
}

/* Lets the others go on. */
UNCHECKED void change_to_scheduler()
{
    if (__builtin_setjmp(run.current->at) == 0)
        jump(run.scheduler);
}

void change_to(fibre *f);

/* Called by way of memory, so that the compiler can know nothing of registers
 * and memory that these calls leave alone: others run meanwhile. */
void (*volatile pause_fibre)() = change_to_scheduler;
void (*volatile resume)(fibre *) = change_to;

/* Runs threads from first to last, until there are none left to begin. */
void fibre_main()
{
    fibre *self = run.current;
    for (;;) {
        while (run.next < run.threads) {
            thread *t = &run.thread_of[run.next++];
            self->running = t;
            place(t);
            (*run.body)();
            run.progress++;
        }
        self->running = nullptr;
        pause_fibre();
    }
}

UNCHECKED void change_to(fibre *f)
{
    run.current = f;
    if (f->running)
        place(f->running);
    if (__builtin_setjmp(run.scheduler) != 0)
        return;
    if (f->begun)
        jump(f->at);
    f->begun = true;
    setcontext(&f->context);
    /* Something must follow: were it the last call, a compiler might give up
     * the frame first, to which the scheduler returns. */
    tp_emulate_die("a thread does not begin");
}

fibre *new_fibre()
{
    auto f = std::make_unique<fibre>();
    f->stack.reset(new char[stack_bytes]);
    f->running = nullptr;
    f->begun = false;
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack.get();
    f->context.uc_stack.ss_size = stack_bytes;
    f->context.uc_link = nullptr;
    makecontext(&f->context, fibre_main, 0);
    run.fibres.push_back(std::move(f));
    return run.fibres.back().get();
}

void begin_threads()
{
    size_t used = 0;
    while (run.next < run.threads) {
        if (used == run.fibres.size())
            new_fibre();
        resume(run.fibres[used++].get());
    }
}

/* One round of those that wait; whether some still do. */
bool go_round(bool backwards)
{
    bool waiting = false;
    size_t n = run.fibres.size();
    for (size_t i = 0; i < n; i++) {
        fibre *f = run.fibres[backwards ? n - 1 - i : i].get();
        if (f->running)
            resume(f);
        waiting = waiting || f->running;
    }
    return waiting;
}

void run_block(const std::function<void()> &body, unsigned threads)
{
    run.body = &body;
    run.threads = threads;
    run.next = 0;
    run.arrived = 0;
    std::memset(run.warps, 0, sizeof run.warps);
    for (unsigned i = 0; i < threads; i++)
        run.thread_of[i] = thread{i, 0, 0};
    begin_threads();
    bool waiting = true;
    for (bool backwards = true; waiting; backwards = !backwards) {
        uint64_t before = run.progress;
        waiting = go_round(backwards);
        if (waiting && run.progress == before)
            tp_emulate_die("threads wait for each other");
    }
}

} // namespace

void tp_emulate_grid(const tp_emulated_launch &launch,
                     const std::function<void()> &body)
{
    std::vector<uint64_t> shared(launch.shared / 8 + 3);
    tp_emulated.block_size = launch.block;
    tp_emulated.grid_size = launch.grid;
    /* 16 bytes aligned */
    char *at = reinterpret_cast<char *>(shared.data());
    at += (16 - reinterpret_cast<uintptr_t>(at) % 16) % 16;
    tp_emulated.shared = at;
    for (unsigned y = 0; y < launch.grid.y; y++) {
        for (unsigned x = 0; x < launch.grid.x; x++) {
            tp_emulated.block = dim3(x, y);
            std::memset(at, 0xa5, launch.shared);
            run_block(body, launch.block.x);
        }
    }
}

const uint64_t *tp_emulate_warp(const char *kind, unsigned mask,
                                uint64_t value)
{
    thread *self = run.current->running;
    if (mask != 0xffffffffu || run.threads % WARP != 0)
        tp_emulate_die("only whole warps are emulated");
    warp *w = &run.warps[self->number / WARP];
    uint64_t step = self->warp_steps++;
    int side = static_cast<int>(step % 2);
    if (w->arrived % WARP == 0)
        w->kind[side] = kind;
    else if (w->arrived / WARP != step || std::strcmp(w->kind[side], kind))
        tp_emulate_die("lanes of a warp are at different operations");
    w->value[side][self->number % WARP] = value;
    w->arrived++;
    run.progress++;
    while (w->arrived < (step + 1) * WARP)
        pause_fibre();
    return w->value[side];
}

void __syncthreads()
{
    thread *self = run.current->running;
    uint64_t step = self->barriers++;
    run.arrived++;
    run.progress++;
    while (run.arrived < (step + 1) * run.threads)
        pause_fibre();
}
