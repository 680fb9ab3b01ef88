/* SPDX-License-Identifier: MIT */
/*
 * Runs a command again and again, each time with another call that fails (see
 * inject.c), over a folder `out` that holds the older result `older`, and
 * compares what is there afterwards with the older one and with `good`, that of
 * an undisturbed run. Exit statuses, messages and trees decide.
 *
 *   loop LIBRARY KIND once|on RUNS COMMAND...
 *
 * Cost: RUNS runs, whose calls lie evenly among all; 0: one for every call;
 * "places": one for all calls that come from the same functions.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 60, LONGEST = 4096, SOME_UNREAD = 3 };

/* Whether a file is no part of a result: a name that has the time in it is
 * another each run; a state may be the new one while the result is the older:
 * it is for the next run. */
static bool is_apart(const char *name)
{
    return !strncmp(name, "compare_result_", 15) || !strcmp(name, "kept.state");
}

enum verdict {
    SAME,   /* as the undisturbed run                                      */
    TOLD,   /* its exit status, or the one of runs that could not read all;
               what differs is said on stderr or in a note of a report or
               table, and the result is the older one or all of a new one  */
    FAILED, /* another, with a message; the older result, or all of the new */
    SILENT, /* its exit status, something differs, and not a word          */
    MUTE,   /* another, without a message                                  */
    LOST,   /* another; neither the older result nor all of a new one      */
    LEFT,   /* hidden files are left: the next run removes them; what could
                not be put back, as the message says, is among them         */
    CRASHED,
    FOUND,   /* a sanitizer says what is wrong: a leak, most likely          */
    LIBRARY, /* crashed inside a library                                    */
    HUNG,
    VERDICTS
};

static const char *const words[VERDICTS] = {
    "same", "told",    "failed",    "SILENT",     "MUTE", "LOST",
    "LEFT", "CRASHED", "SANITIZER", "in library", "HUNG"};

/* Who cannot even look into a folder from some point on leaves it. */
static bool is_bad(enum verdict verdict, bool on)
{
    return verdict >= SILENT && verdict != LIBRARY && !(verdict == LEFT && on);
}

static char *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    *size = 0;
    if (!file)
        return NULL;
    size_t room = 0, n;
    do {
        room += 1 << 16;
        bytes = realloc(bytes, room);
        if (!bytes)
            abort();
        n = fread(bytes + *size, 1, room - *size, file);
        *size += n;
    } while (*size == room);
    fclose(file);
    return bytes;
}

static bool same_file(const char *a, const char *b)
{
    size_t size_a, size_b;
    char *of_a = read_whole(a, &size_a), *of_b = read_whole(b, &size_b);
    bool same =
        of_a && of_b && size_a == size_b && memcmp(of_a, of_b, size_a) == 0;
    free(of_a);
    free(of_b);
    return same;
}

/* What a walk over a tree looks for. */
static const char *walk_root, *walk_other;
static bool walk_differs, walk_hidden;
static size_t walk_files;
static char walk_first[LONGEST]; /* that differs */

static const char *other_path(const char *path)
{
    static char other[LONGEST];
    snprintf(other, sizeof other, "%s%s", walk_other, path + strlen(walk_root));
    return other;
}

static int meet(const char *path, const struct stat *info, int type,
                struct FTW *where)
{
    (void)info;
    if (is_apart(path + where->base))
        return FTW_CONTINUE;
    if (path[where->base] == '.') {
        walk_hidden = true;
        return FTW_SKIP_SUBTREE;
    }
    if (type == FTW_F) {
        walk_files++;
        if (walk_other && !walk_differs && !same_file(path, other_path(path))) {
            walk_differs = true;
            snprintf(walk_first, sizeof walk_first, "%s", path);
        }
    }
    return FTW_CONTINUE;
}

static void walk(const char *root, const char *other)
{
    walk_root = root;
    walk_other = other;
    walk_differs = walk_hidden = false;
    walk_first[0] = '\0';
    walk_files = 0;
    nftw(root, meet, 16, FTW_PHYS | FTW_ACTIONRETVAL);
}

static bool same_tree(const char *a, const char *b)
{
    walk(b, NULL);
    size_t files = walk_files;
    walk(a, b);
    return !walk_differs && walk_files == files;
}

static bool walk_kept, walk_made;

/* Looks at a file of a result: whether it is still the older one, and whether
 * it is not. */
static int meet_new(const char *path, const struct stat *info, int type,
                    struct FTW *where)
{
    char older[LONGEST], good[LONGEST];
    (void)info;
    if (type != FTW_F || path[where->base] == '.' ||
        is_apart(path + where->base))
        return 0;
    snprintf(older, sizeof older, "older%s", path + strlen("out"));
    snprintf(good, sizeof good, "good%s", path + strlen("out"));
    const bool same = same_file(path, older);
    walk_kept |= same && !same_file(path, good);
    walk_made |= !same;
    walk_differs |= access(good, F_OK) != 0;
    return 0;
}

/* Whether `out` has the files of `good` and nothing of the older result. */
static bool is_new_tree(void)
{
    walk("good", NULL);
    const size_t files = walk_files;
    walk("out", NULL);
    const bool as_many = files == walk_files;
    walk_kept = walk_made = false;
    nftw("out", meet_new, 16, FTW_PHYS);
    return as_many && !walk_differs && !(walk_kept && walk_made);
}

static int remove_one(const char *path, const struct stat *info, int type,
                      struct FTW *where)
{
    (void)info, (void)type, (void)where;
    return remove(path);
}

static void remove_tree(const char *root)
{
    nftw(root, remove_one, 16, FTW_PHYS | FTW_DEPTH);
}

static int copy_one(const char *path, const struct stat *info, int type,
                    struct FTW *where)
{
    (void)info, (void)where;
    const char *to = other_path(path);
    if (type == FTW_D)
        return mkdir(to, 0777) != 0;
    size_t size;
    char *bytes = read_whole(path, &size);
    FILE *file = fopen(to, "wb");
    int failed = !bytes || !file || fwrite(bytes, 1, size, file) != size;
    if (file)
        failed |= fclose(file) != 0;
    free(bytes);
    return failed;
}

static void copy_tree(const char *from, const char *to)
{
    walk_root = from;
    walk_other = to;
    remove_tree(to);
    if (nftw(from, copy_one, 16, FTW_PHYS) != 0) {
        perror(to);
        exit(99);
    }
}

static void redirect(const char *path, int number)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(fd, number);
    close(fd);
}

/* What is first unlike the undisturbed run. */
static const char *what_differs(void)
{
    if (!same_tree("out", "good"))
        return walk_first[0] ? walk_first : "the number of files";
    return same_file("stdout", "stdout.good") ? "nothing" : "stdout";
}

/* Runs the command with call `at` failing; its status as waitpid gives it. */
static int run(char **words_of, const char *kind, long at, bool on)
{
    char number[32];
    snprintf(number, sizeof number, "%ld", at);
    remove("trace");
    pid_t pid = fork();
    if (pid == 0) {
        redirect("stdout", 1);
        redirect("stderr", 2);
        setenv("FAULT_KIND", kind, 1);
        setenv("FAULT_AT", number, 1);
        setenv("FAULT_COUNT", "count", 1);
        setenv("FAULT_TRACE", "trace", 1);
        if (on)
            setenv("FAULT_ON", "1", 1);
        if (at == 0)
            setenv("FAULT_PLACES", "places", 1);
        setenv("LD_PRELOAD", words_of[0], 1);
        alarm(PATIENCE_S);
        execvp(words_of[1], words_of + 1);
        _exit(99);
    }
    int status;
    waitpid(pid, &status, 0);
    return status;
}

/* A function of a library, of what backtrace_symbols_fd prints, which is
 * FILE(NAME+OFFSET) [ADDRESS], as FILE(NAME or, where it has none,
 * FILE(+OFFSET; "" where that is none of a library. */
static const char *in_library(char *frame)
{
    char *name = strstr(frame, ".so") ? strchr(frame, '(') : NULL;
    if (!name)
        return "";
    name[1 + strcspn(name + 1, name[1] == '+' ? ")" : "+)")] = '\0';
    char *slash = strrchr(frame, '/');
    return slash ? slash + 1 : frame;
}

/* Ends in libraries: in which function, and how often. */
static struct ending {
    char place[LONGEST];
    long runs;
} * endings;
static size_t ending_count;

static void count_ending(const char *place)
{
    size_t i = 0;
    while (i < ending_count && strcmp(endings[i].place, place) != 0)
        i++;
    if (i == ending_count) {
        endings = realloc(endings, (i + 1) * sizeof *endings);
        if (!endings)
            abort();
        ending_count++;
        endings[i].runs = 0;
        snprintf(endings[i].place, sizeof endings[i].place, "%s", place);
    }
    endings[i].runs++;
}

/* Whether the first frame that is neither ours nor the C or C++ library's is of
 * a library, which is then counted. */
static bool crashed_in_library(void)
{
    static const char *const common[] = {"inject", "libc.so", "libstdc++",
                                         "libgcc_s", "libpthread"};
    size_t size;
    char *text = read_whole("trace", &size), *line;
    const char *place = "";
    bool found = false;
    if (!text)
        return false;
    text[size ? size - 1 : 0] = '\0';
    for (char *rest = text; !found && (line = strsep(&rest, "\n"));) {
        found = true;
        for (size_t i = 0; i < sizeof common / sizeof *common; i++)
            found &= !strstr(line, common[i]);
        if (found)
            place = in_library(line);
    }
    const bool in = *place;
    if (in)
        count_ending(place);
    free(text);
    return in;
}

static bool says(const char *path, const char *words_of_it)
{
    size_t size;
    char *text = read_whole(path, &size);
    bool found =
        text && memmem(text, size, words_of_it, strlen(words_of_it)) != NULL;
    free(text);
    return found;
}

static bool has_one_of(const char *line, const char *const *words_of_it)
{
    while (*words_of_it && !strstr(line, *words_of_it))
        words_of_it++;
    return *words_of_it != NULL;
}

/* What is said of something that could not be done; of messages of the system
 * what no line of a report breaks. */
static const char *const failure[] = {
    "cannot",          "could not",    "not read",      "unread",
    "out of memory",   "Input/output", "No space left", "Too many open",
    "allocate memory", "unavailable",  NULL};

/* And where that is all that there is to read. */
static const char *const nothing_read[] = {
    "cannot read", "cannot open", "no tensor that could be read",
    "has no calls", NULL};

/* Whether a text has a line with one of the words that `good` has not. */
static bool says_more(const char *path, const char *good,
                      const char *const *words_of_it)
{
    size_t size, size_of_good;
    char *text = read_whole(path, &size), *line;
    char *known = read_whole(good, &size_of_good);
    bool more = false;
    if (text)
        text[size ? size - 1 : 0] = '\0';
    for (char *rest = text; rest && !more && (line = strsep(&rest, "\n"));)
        more = has_one_of(line, words_of_it) &&
               (!known || !memmem(known, size_of_good, line, strlen(line)));
    free(known);
    free(text);
    return more;
}

/* Whether a report or a table of the new result has a note that that of the
 * undisturbed run has not. */
static bool notes_more(const char *pattern)
{
    glob_t files;
    bool more = false;
    if (glob(pattern, 0, NULL, &files) != 0)
        return false;
    for (size_t i = 0; i < files.gl_pathc && !more; i++) {
        char good[LONGEST];
        snprintf(good, sizeof good, "good%s",
                 files.gl_pathv[i] + strlen("out"));
        more = says_more(files.gl_pathv[i], good, failure);
    }
    globfree(&files);
    return more;
}

/* Whether a report or a table tells of it. */
static bool is_noted(void)
{
    return notes_more("out/*report.txt") || notes_more("out/*.csv");
}

/* Of a run that says that it could not read all: it has made a new result of
 * the rest, or there was none. */
static enum verdict judge_unread(void)
{
    walk("good", NULL);
    const bool has_tree = walk_files > 0;
    if (has_tree && same_tree("out", "older"))
        return says_more("stderr", "stderr.good", nothing_read) ? TOLD : MUTE;
    if (!is_new_tree())
        return LOST;
    return says_more("stderr", "stderr.good", failure) ||
                   says_more("stdout", "stdout.good", failure) || is_noted()
               ? TOLD
               : SILENT;
}

static enum verdict judge(int status, int good_status)
{
    size_t said;
    free(read_whole("stderr", &said));
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGALRM ? HUNG
               : crashed_in_library()      ? LIBRARY
                                           : CRASHED;
    if (says("stderr", "Sanitizer: ") || says("stderr", "runtime error: "))
        return FOUND;
    bool good = same_tree("out", "good"), left = walk_hidden;
    if (WEXITSTATUS(status) == good_status) {
        if (good && same_file("stdout", "stdout.good"))
            return left ? LEFT : SAME;
        return same_file("stderr", "stderr.good") && !is_noted() ? SILENT
                                                                 : TOLD;
    }
    if (WEXITSTATUS(status) == SOME_UNREAD)
        return judge_unread();
    if (!good && !same_tree("out", "older"))
        return says("stderr", "could not be put back") ? LEFT : LOST;
    return !said ? MUTE : left ? LEFT : FAILED;
}

/* What a sanitizer found is looked at again with whole stacks, which cost time,
 * as only these tell what is of a library. */
static enum verdict look_again(char **command, const char *kind, long at,
                               bool on, int good_status)
{
    const char *options = getenv("ASAN_OPTIONS");
    char fast[LONGEST], whole[LONGEST];
    snprintf(fast, sizeof fast, "%s", options ? options : "");
    snprintf(whole, sizeof whole, "%s:fast_unwind_on_malloc=0",
             options ? options : "");
    setenv("ASAN_OPTIONS", whole, 1);
    copy_tree("older", "out");
    const enum verdict verdict = judge(run(command, kind, at, on), good_status);
    setenv("ASAN_OPTIONS", fast, 1);
    return verdict;
}

/* Where there is a sanitizer, no child writes the tables: HDF5, where memory
 * ends, uses what it has released, or ends the process, in ours. */
static bool is_of_hdf5(enum verdict verdict, int status)
{
    return verdict == FOUND ? says("stderr", "libhdf5")
                            : getenv("ASAN_OPTIONS") && WIFEXITED(status) &&
                                  WEXITSTATUS(status) == 255;
}

static void print_whole(const char *path)
{
    size_t size;
    char *text = read_whole(path, &size);
    fwrite(text, 1, text ? size : 0, stdout);
    free(text);
}

/* The call after `before` that is to fail, of `all`; beyond: there is none. The
 * steps are of `wanted` calls, or from place to place. */
static long next_call(long before, long all, long wanted, FILE *places)
{
    long next;
    if (places)
        return fscanf(places, "%ld", &next) == 1 ? next : all + 1;
    const long step = wanted && all > wanted ? all / wanted : 1;
    return before ? before + step : 1;
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 99;
    char **command = argv + 4;
    const char *kind = argv[2];
    const bool on = !strcmp(argv[3], "on");
    const long wanted = atol(argv[4]);
    const bool by_places = !strcmp(argv[4], "places");
    command[0] = argv[1];
    long counts[VERDICTS] = {0}, bad = 0, all = 0;
    copy_tree("older", "out");
    int good_status = WEXITSTATUS(run(command, kind, 0, false));
    FILE *file = fopen("count", "r");
    if (!file || fscanf(file, "%ld", &all) != 1)
        return 99;
    fclose(file);
    rename("stdout", "stdout.good");
    rename("stderr", "stderr.good");
    copy_tree("out", "good");
    FILE *places = by_places ? fopen("places", "r") : NULL;
    for (long at = next_call(0, all, wanted, places); at <= all;
         at = next_call(at, all, wanted, places)) {
        copy_tree("older", "out");
        int status = run(command, kind, at, on);
        enum verdict verdict = judge(status, good_status);
        if (verdict == FOUND && !is_of_hdf5(verdict, status))
            verdict = look_again(command, kind, at, on, good_status);
        if (is_of_hdf5(verdict, status)) {
            verdict = LIBRARY;
            count_ending("libhdf5(");
        }
        if (verdict == FOUND)
            print_whole("stderr");
        counts[verdict]++;
        bad += is_bad(verdict, on);
        if (is_bad(verdict, on) || (verdict == LIBRARY && getenv("TP_VERBOSE")))
            printf("%s %s at %ld: %s, status %d, differs: %s\n", kind, argv[3],
                   at, words[verdict],
                   WIFSIGNALED(status) ? 128 + WTERMSIG(status)
                                       : WEXITSTATUS(status),
                   what_differs());
    }
    printf("%s %s of %ld calls:", kind, argv[3], all);
    for (int v = 0; v < VERDICTS; v++) {
        if (counts[v])
            printf(" %ld %s", counts[v], words[v]);
    }
    printf("\n");
    for (size_t i = 0; i < ending_count; i++)
        printf("  in %s): %ld\n", endings[i].place, endings[i].runs);
    free(endings);
    return bad != 0;
}
