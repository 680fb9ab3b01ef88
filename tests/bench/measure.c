/* SPDX-License-Identifier: MIT */
/*
 * measure [cpu] RUNS COMMAND [ARG...]: runs the command once to warm up and
 * then RUNS times, with its output discarded. Prints the wall time of the
 * fastest run in seconds (or its processor time, which a busy machine changes
 * less) and the largest peak of resident memory in KiB.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* BSD and Linux have it; POSIX has not. */
pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage);

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void become(char **command)
{
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

static double time_of(const struct timeval *t)
{
    return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

/* Runs once; exits the program when the command fails. */
static double run(char **command, bool cpu, long *peak)
{
    struct rusage usage;
    int status;
    double start = seconds();
    pid_t child = fork();
    if (child == 0)
        become(command);
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        perror("measure");
        exit(1);
    }
    double taken = seconds() - start;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "measure: %s failed (status %d)\n", command[0],
                status);
        exit(1);
    }
    if (usage.ru_maxrss > *peak)
        *peak = usage.ru_maxrss;
    return cpu ? time_of(&usage.ru_utime) + time_of(&usage.ru_stime) : taken;
}

int main(int argc, char **argv)
{
    const bool cpu = argc > 1 && strcmp(argv[1], "cpu") == 0;
    char **words = argv + cpu;
    if (argc - cpu < 3) {
        fprintf(stderr, "usage: measure [cpu] RUNS COMMAND [ARG...]\n");
        return 2;
    }
    long peak = 0;
    double best = run(words + 2, cpu, &peak);
    for (int i = atoi(words[1]); i > 0; i--) {
        double taken = run(words + 2, cpu, &peak);
        if (taken < best)
            best = taken;
    }
    printf("%.4f %ld\n", best, peak);
    return 0;
}
