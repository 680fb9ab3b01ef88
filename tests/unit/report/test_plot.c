/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "base/file.h"
#include "base/text.h"
#include "report/plot.h"
#include "tests/unit/support/all_panels.h"

/* --- folders ---------------------------------------------------------- */

static char folder[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/test_plot.XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static void remove_folder(void)
{
    char command[128];
    cr_assert_eq(chdir("/"), 0);
    snprintf(command, sizeof command, "/bin/rm -rf %s", folder);
    cr_expect_eq(system(command), 0);
}

TestSuite(plot_files, .init = make_folder, .fini = remove_folder);

static bool exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static int count_files(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;
    if (!dir)
        return -1;
    for (struct dirent *entry; (entry = readdir(dir));)
        n +=
            strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static void need_gnuplot(void)
{
    if (system("gnuplot --version > /dev/null 2>&1") != 0)
        cr_skip("there is no gnuplot here");
}

static struct tp_plot_result write_all(const struct tp_figure *figures,
                                       size_t count, const char *dir, bool draw)
{
    struct tp_plot_options options = {
        .output_dir = dir, .format = TP_PLOT_PNG, .jobs = 2, .draw = draw};
    struct tp_plot_result result;
    struct tp_error err = {0};
    cr_assert_eq(tp_plot_write(figures, count, &options, &result, &err), TP_OK,
                 "%s", err.message);
    return result;
}

/* --- files ------------------------------------------------------------ */

/* By the names that it has. */
static void remove_figure(const char *output_dir, const char *category,
                          const char *id)
{
    struct tp_text names = {0};
    tp_plot_names(&names, category, id);
    for (size_t at = 0; at < names.length;
         at += strlen(names.data + at) + 1) {
        char *path = tp_file_join(output_dir, names.data + at);
        unlink(path);
        free(path);
    }
    tp_text_clear(&names);
}

Test(plot_files, every_kind_is_drawn)
{
    struct tp_panel panels[TP_PANEL_KINDS];
    struct tp_panel_series series[TP_PANEL_KINDS];
    make_all(panels, series, "a");
    struct tp_figure figures[3] = {
        make_figure("all", panels, TP_FIGURE_PANELS_MAX),
        make_figure("rest", &panels[TP_FIGURE_PANELS_MAX],
                    TP_PANEL_KINDS - TP_FIGURE_PANELS_MAX),
        make_figure("empty", NULL, 0)};
    need_gnuplot();
    struct tp_plot_result result = write_all(figures, 3, "out", true);
    cr_expect_eq(result.written, 2);
    cr_expect_eq(result.drawn, 2);
    cr_expect_eq(result.failed, 0);
    cr_expect_str_eq(result.warning, "");
    cr_expect_eq(count_files("out/statistics"), 6); /* and nothing hidden */
    unsigned char head[4] = {0};
    FILE *png = fopen("out/statistics/all.png", "rb");
    cr_assert_not_null(png);
    cr_expect_eq(fread(head, 1, 4, png), 4);
    fclose(png);
    cr_expect_eq(memcmp(head, "\x89PNG", 4), 0);
    /* and anyone can draw it again */
    cr_expect_eq(remove("out/statistics/all.png"), 0);
    cr_expect_eq(system("cd out/statistics && gnuplot all.gp"), 0);
    cr_expect(exists("out/statistics/all.png"));
}

Test(plot_files, svg_and_pdf)
{
    struct tp_panel panels[TP_PANEL_KINDS];
    struct tp_panel_series series[TP_PANEL_KINDS];
    make_all(panels, series, "a");
    struct tp_figure figure = make_figure("all", panels, TP_FIGURE_PANELS_MAX);
    need_gnuplot();
    for (int format = TP_PLOT_SVG; format <= TP_PLOT_PDF; format++) {
        struct tp_plot_options options = {.output_dir = "out",
                                          .format = (enum tp_plot_format)format,
                                          .jobs = 1,
                                          .draw = true};
        struct tp_plot_result result;
        cr_assert_eq(tp_plot_write(&figure, 1, &options, &result, NULL), TP_OK);
        cr_expect_eq(result.drawn, 1, "%s", result.warning);
    }
    cr_expect(exists("out/statistics/all.svg"));
    cr_expect(exists("out/statistics/all.pdf"));
}

Test(plot_files, names_cannot_give_commands)
{
    struct tp_panel panels[HOSTILE][TP_PANEL_KINDS];
    struct tp_panel_series series[HOSTILE][TP_PANEL_KINDS];
    struct tp_figure figures[HOSTILE];
    char ids[HOSTILE][24];
    need_gnuplot();
    for (int i = 0; i < HOSTILE; i++) {
        struct tp_tic tics[2] = {{0, hostile[i]}, {1, hostile[i]}};
        static struct tp_tic kept[HOSTILE][2];
        static struct tp_mark marks[HOSTILE];
        memcpy(kept[i], tics, sizeof tics);
        marks[i] = (struct tp_mark){1.5, hostile[i]};
        make_all(panels[i], series[i], hostile[i]);
        for (int k = 0; k < TP_PANEL_KINDS; k++) {
            struct tp_panel *panel = &panels[i][k];
            panel->x.label = hostile[i][0] ? hostile[i] : "x";
            panel->marks = &marks[i];
            panel->mark_count = 1;
            if (panel->y.tics)
                panel->y.tics = kept[i];
        }
        snprintf(ids[i], sizeof ids[i], "hostile%d", i);
        figures[i] = make_figure(ids[i], panels[i],
                                 TP_FIGURE_PANELS_MAX);
        figures[i].caption = hostile[i];
    }
    struct tp_plot_result result = write_all(figures, HOSTILE, "out", true);
    cr_expect_eq(result.drawn, HOSTILE, "%s", result.warning);
    cr_expect_str_eq(result.warning, "");
    cr_expect(!exists("broken"));
    cr_expect(!exists("out/broken"));
    cr_expect(!exists("out/statistics/broken"));
}

Test(plot_files, an_output_folder_may_have_any_name)
{
    struct tp_panel panels[TP_PANEL_KINDS];
    struct tp_panel_series series[TP_PANEL_KINDS];
    make_all(panels, series, "a");
    struct tp_figure figure = make_figure("all", panels, TP_FIGURE_PANELS_MAX);
    need_gnuplot();
    struct tp_plot_result result =
        write_all(&figure, 1, "it's `a`\n$(folder)", true);
    cr_expect_eq(result.drawn, 1, "%s", result.warning);
}

Test(plot_files, without_gnuplot_the_tables_are_there)
{
    struct tp_panel panels[TP_PANEL_KINDS];
    struct tp_panel_series series[TP_PANEL_KINDS];
    make_all(panels, series, "a");
    struct tp_figure figure = make_figure("all", panels, TP_FIGURE_PANELS_MAX);
    cr_assert_eq(setenv("PATH", folder, 1), 0);
    struct tp_plot_result result = write_all(&figure, 1, "out", true);
    cr_expect_eq(result.written, 1);
    cr_expect_eq(result.drawn, 0);
    cr_expect_eq(result.failed, 1);
    cr_expect_not_null(strstr(result.warning, "gnuplot"));
    cr_expect_eq(count_files("out/statistics"), 2);
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
}

/* The end of a PNG file, all that a script that draws has to put there. */
#define PNG_END "IEND\xae" "B\x60\x82"

/* From now on the script is what runs as gnuplot; one that draws copies the
 * file `whole`. */
static void be_gnuplot(const char *script)
{
    put_file("gnuplot", script);
    put_file("whole", PNG_END);
    cr_assert_eq(chmod("gnuplot", 0755), 0);
    char path[4200];
    snprintf(path, sizeof path, "%s:%.4000s", folder, getenv("PATH"));
    cr_assert_eq(setenv("PATH", path, 1), 0);
}

/* Draws three figures with what runs as gnuplot, where none is there before. */
static enum tp_status draw_three(struct tp_plot_options options,
                                 struct tp_plot_result *result)
{
    struct tp_panel panels[TP_PANEL_KINDS];
    struct tp_panel_series series[TP_PANEL_KINDS];
    make_all(panels, series, "a");
    struct tp_figure figures[3] = {make_figure("a", panels, 1),
                                   make_figure("b", panels, 1),
                                   make_figure("c", panels, 1)};
    options.output_dir = "out";
    options.draw = true;
    for (int i = 0; i < 3; i++)
        remove_figure("out", figures[i].category, figures[i].id);
    return tp_plot_write(figures, 3, &options, result, NULL);
}

static const struct timespec moment = {.tv_nsec = 10000000};

static volatile sig_atomic_t stop;
static volatile time_t stopped_at;

static void on_signal(int number)
{
    stopped_at = time(NULL);
    stop = number;
}

/* A process that sends SIGUSR1 to this one when so many gnuplots have begun,
 * beside the folder of the figures. */
static pid_t call_when_begun(int count)
{
    const pid_t caller = fork();
    if (caller != 0)
        return caller;
    while (count_files("out") < 1 + count)
        nanosleep(&moment, NULL);
    kill(getppid(), SIGUSR1);
    _exit(0);
}

Test(plot_files, a_stop_ends_gnuplot)
{
    struct tp_plot_options options = {
        .jobs = 2, .stop = &stop, .patience_s = 900};
    struct tp_plot_result result;
    /* it has begun a picture, and never ends */
    be_gnuplot("#!/bin/sh\nfor word; do case $word in *a.gp*)\n"
               "eval \"$(echo \"$word\" | sed \"s/.*output = '\\([^']*\\)'"
               ".*/touch 'statistics\\/\\1'/\")\";; esac; done\n"
               "touch begun$$\nexec sleep 1000\n");
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    const pid_t caller = call_when_begun(2);
    cr_expect_eq(draw_three(options, &result), TP_E_INTERRUPTED);
    cr_expect(time(NULL) - stopped_at < 60); /* nothing else ended it */
    kill(caller, SIGKILL);
    cr_expect_eq(waitpid(caller, NULL, 0), caller);
    cr_expect_eq(count_files("out"), 3);
    cr_expect_eq(count_files("out/statistics"), 6); /* and nothing hidden */
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "a gnuplot still runs");
    cr_expect_eq(errno, ECHILD);
}

/* Takes its time, and says which process it is. */
static void draw_for_ever(void)
{
    struct tp_plot_options options = {.jobs = 1};
    struct tp_plot_result result;
    draw_three(options, &result);
    _exit(0);
}

Test(plot_files, gnuplot_ends_with_a_parent_that_is_killed)
{
    long drawer = 0;
    int status = 0;
#if defined(__linux__)
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* who else waits for it, if anyone? */
#else
    cr_skip("only Linux tells a process that its parent is gone");
#endif
    be_gnuplot("#!/bin/sh\necho $$ > pid.new; mv pid.new pid\n"
               "exec sleep 1000\n");
    const pid_t parent = fork();
    if (parent == 0)
        draw_for_ever();
    while (!exists("out/pid"))
        nanosleep(&moment, NULL);
    FILE *file = fopen("out/pid", "r");
    cr_assert_eq(fscanf(file, "%ld", &drawer), 1);
    fclose(file);
    cr_assert_eq(kill((pid_t)drawer, 0), 0);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    cr_expect_eq(waitpid((pid_t)drawer, &status, 0), (pid_t)drawer);
    cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* gnuplot comes to the end of its scripts, of which `whole` is made. */
static const char drawing[] =
    "#!/bin/sh\n"
    "for word; do case $word in\n"
    "*output*) eval \"$(echo \"$word\" | sed \"s/^cd '\\([^']*\\)'; output"
    " = '\\([^']*\\)'.* print '\\(.*\\)'/cp ..\\/whole '\\1\\/\\2'; echo "
    "\\3/\")\";;\n"
    "esac; done\n";

Test(plot_files, a_picture_has_its_end)
{
    static const char *const whole[] = {PNG_END, "<svg>\n</svg>\n\n",
                                        "%PDF\n%%EOF\n"};
    static const char *const cut[] = {"IEND\xae" "B\x60", "<svg>\n</svg",
                                      "%PDF\n%%EO"};
    for (int format = TP_PLOT_PNG; format <= TP_PLOT_PDF; format++) {
        struct tp_plot_options options = {
            .jobs = 2, .format = (enum tp_plot_format)format};
        struct tp_plot_result result;
        be_gnuplot(drawing);
        put_file("whole", whole[format]);
        cr_expect_eq(draw_three(options, &result), TP_OK);
        cr_expect_eq(result.drawn, 3);
        cr_expect_eq(count_files("out/statistics"), 9);
        put_file("whole", cut[format]);
        cr_expect_eq(draw_three(options, &result), TP_E_IO);
        put_file("whole", "");
        cr_expect_eq(draw_three(options, &result), TP_E_IO);
        cr_expect_eq(result.drawn, 0);
        cr_expect_eq(result.failed, 3);
        cr_expect_eq(count_files("out/statistics"), 6); /* nothing hidden */
    }
}

Test(plot_files, the_first_cut_picture_is_named)
{
    struct tp_panel panels[TP_PANEL_KINDS];
    struct tp_panel_series series[TP_PANEL_KINDS];
    make_all(panels, series, "a");
    struct tp_figure figures[2] = {make_figure("a", panels, 1),
                                   make_figure("b", panels, 1)};
    struct tp_plot_options options = {
        .output_dir = "out", .jobs = 1, .draw = true};
    struct tp_plot_result result;
    struct tp_error err = {0};
    be_gnuplot(drawing);
    put_file("whole", "\x89PNG");
    cr_expect_eq(tp_plot_write(figures, 2, &options, &result, &err), TP_E_IO);
    cr_expect_str_eq(err.message,
                     "cannot write out/statistics/a.png: gnuplot left it "
                     "without its end; 1 more figure is not written");
    cr_expect_eq(tp_plot_write(figures, 1, &options, &result, &err), TP_E_IO);
    cr_expect_str_eq(err.message, "cannot write out/statistics/a.png: gnuplot "
                                  "left it without its end");
}

/* Draws, but takes an hour for the second of three scripts; on a busy machine
 * the others may take seconds, too. */
Test(plot_files, a_gnuplot_that_does_not_end_costs_one_figure)
{
    static const char script[] =
        "#!/bin/sh\n"
        "for word; do case $word in\n"
        "*'b.gp'*) echo 'what a nice plot'; exec sleep 3600;;\n"
        "*output*) eval \"$(echo \"$word\" | sed \"s/^cd '\\([^']*\\)'; output"
        " = '\\([^']*\\)'.* print '\\(.*\\)'/cp ..\\/whole '\\1\\/\\2'; echo "
        "\\3/\")\";;\n"
        "esac; done\n";
    struct tp_plot_options options = {.jobs = 1, .patience_s = 2};
    struct tp_plot_result result;
    char warning[128];
    be_gnuplot(script);
    cr_assert_eq(draw_three(options, &result), TP_OK);
    while (result.drawn < 2 && options.patience_s < 100) {
        options.patience_s *= 4;
        cr_assert_eq(draw_three(options, &result), TP_OK);
    }
    cr_expect_eq(result.drawn, 2);
    cr_expect_eq(result.failed, 1);
    snprintf(warning, sizeof warning,
             "gnuplot took more than %u s for a figure (its first "
             "words: what a nice plot): statistics/b is not drawn",
             options.patience_s);
    cr_expect_str_eq(result.warning, warning);
    cr_expect_eq(count_files("out/statistics"), 8);
}

/* Of two gnuplots the one that has a.gp could not be started; the other one's
 * picture is there, and the rest of the share is tried again. */
Test(plot_files, one_process_that_does_not_start)
{
    static const char refuse[] = "#!/bin/sh\n"
                                 "case \"$*\" in *a.gp*) exit 127;; esac\n";
    struct tp_text script = {0};
    struct tp_plot_options options = {.jobs = 2};
    struct tp_plot_result result;
    tp_text_add(&script, "%s%s", refuse, drawing + strlen("#!/bin/sh\n"));
    be_gnuplot(tp_text_get(&script));
    tp_text_clear(&script);
    cr_assert_eq(draw_three(options, &result), TP_OK);
    cr_expect_eq(result.drawn, 2, "%s", result.warning);
    cr_expect_eq(result.failed, 1);
    cr_expect_str_eq(result.warning, "gnuplot ended with status 127: "
                                     "statistics/a is not drawn");
    cr_expect(exists("out/statistics/b.png"));
    cr_expect(exists("out/statistics/c.png"));
    cr_expect_eq(count_files("out/statistics"), 8); /* nothing hidden */
}

/* Leaves a picture half drawn and is gone, as env is without gnuplot. */
Test(plot_files, nothing_hidden_stays_without_gnuplot)
{
    struct tp_plot_options options = {.jobs = 1};
    struct tp_plot_result result;
    be_gnuplot("#!/bin/sh\nfor word; do case $word in *output*)\n"
               "eval \"$(echo \"$word\" | sed \"s/^cd '\\([^']*\\)'; output = "
               "'\\([^']*\\)'.*/cp ..\\/whole '\\1\\/\\2'/\")\";;\n"
               "esac; done; exit 127\n");
    cr_assert_eq(draw_three(options, &result), TP_OK);
    cr_expect_eq(result.drawn, 0);
    cr_expect_eq(result.failed, 3);
    cr_expect_not_null(strstr(result.warning, "not installed"));
    cr_expect_eq(count_files("out/statistics"), 6);
}

Test(plot_files, why_gnuplot_failed_is_said)
{
    struct tp_plot_options options = {.jobs = 2};
    struct tp_plot_result result;
    be_gnuplot("#!/bin/sh\necho >&2; printf 'no \\033[1mfonts' >&2; exit 3\n");
    cr_assert_eq(draw_three(options, &result), TP_OK);
    cr_expect_eq(result.failed, 3);
    cr_expect_eq(strncmp(result.warning,
                         "gnuplot ended with status 3 (its "
                         "first words: no ",
                         49),
                 0, "%s", result.warning);
    cr_expect_null(strchr(result.warning, 033), "a terminal obeys it");
    cr_expect_not_null(
        strstr(result.warning, "fonts): 3 figures are not drawn"), "%s",
        result.warning);
    be_gnuplot("#!/bin/sh\nkill -9 $$\n");
    cr_assert_eq(draw_three(options, &result), TP_OK);
    cr_expect_str_eq(result.warning, "gnuplot was ended by signal 9: 3 "
                                     "figures are not drawn");
}

/* A gnuplot that gives up at the second of three scripts. */
Test(plot_files, one_failing_script_costs_only_itself)
{
    struct tp_panel panels[TP_PANEL_KINDS];
    struct tp_panel_series series[TP_PANEL_KINDS];
    make_all(panels, series, "a");
    struct tp_figure figures[3] = {make_figure("a", panels, 1),
                                   make_figure("b", panels, 1),
                                   make_figure("c", panels, 1)};
    static const char script[] =
        "#!/bin/sh\n"
        "for word; do case $word in\n"
        "*'b.gp'*) echo '\"b.gp\" line 3: no such thing' >&2; exit 1;;\n"
        "*output*) eval \"$(echo \"$word\" | sed \"s/^cd '\\([^']*\\)'; output"
        " = '\\([^']*\\)'.* print '\\(.*\\)'/cp ..\\/whole '\\1\\/\\2'; echo "
        "\\3/\")\";;\n"
        "esac; done\n";
    be_gnuplot(script);
    struct tp_plot_options options = {
        .output_dir = "out", .jobs = 1, .draw = true};
    struct tp_plot_result result;
    cr_assert_eq(tp_plot_write(figures, 3, &options, &result, NULL), TP_OK);
    cr_expect_eq(result.drawn, 2);
    cr_expect_eq(result.failed, 1);
    cr_expect_not_null(strstr(result.warning, "no such thing"), "%s",
                       result.warning);
    cr_expect(exists("out/statistics/a.png"));
    cr_expect(!exists("out/statistics/b.png"));
    cr_expect(exists("out/statistics/c.png"));
    cr_expect_eq(count_files("out/statistics"), 8);
}

Test(plot_files, every_form_of_a_figure_is_named)
{
    struct tp_panel panels[TP_PANEL_KINDS];
    struct tp_panel_series series[TP_PANEL_KINDS];
    make_all(panels, series, "a");
    const struct tp_figure figures[2] = {make_figure("all", panels, 1),
                                         make_figure("all_else", panels, 1)};
    write_all(figures, 2, "out", false);
    put_file("out/statistics/all.png", "");
    put_file("out/statistics/all.svg", "");
    put_file("out/statistics/all.pdf", "");
    cr_expect_eq(count_files("out/statistics"), 7);
    remove_figure("out", "statistics", "all");
    cr_expect_eq(count_files("out/statistics"), 2);
    remove_figure("out", "statistics", "nothing");
    cr_expect_eq(count_files("out/statistics"), 2);
}

Test(plot_files, a_folder_that_cannot_be_made)
{
    struct tp_panel panels[TP_PANEL_KINDS];
    struct tp_panel_series series[TP_PANEL_KINDS];
    struct tp_error err = {0};
    struct tp_plot_result result;
    make_all(panels, series, "a");
    struct tp_figure figure = make_figure("all", panels, 1);
    fclose(fopen("out", "w")); /* a file is in the way */
    struct tp_plot_options options = {.output_dir = "out"};
    cr_expect_eq(tp_plot_write(&figure, 1, &options, &result, &err), TP_E_IO);
    cr_expect(err.message[0]);
}

/* --- what a drawer relies on ------------------------------------------ */

Test(plot, checks_refuse_what_cannot_be_drawn)
{
    struct tp_panel panels[TP_PANEL_KINDS];
    struct tp_panel_series series[TP_PANEL_KINDS];
    make_all(panels, series, "a");
    struct tp_figure good = make_figure("all", panels, TP_FIGURE_PANELS_MAX);
    cr_expect_eq(tp_figure_check(&good, NULL), TP_OK);
    struct tp_figure bad = good;
    bad.id = "../evil";
    cr_expect_neq(tp_figure_check(&bad, NULL), TP_OK);
    series[0].rows = TP_PANEL_ROWS_MAX + 1;
    cr_expect_eq(tp_figure_check(&good, NULL), TP_E_LIMIT);
    series[0].rows = 0;
    cr_expect_neq(tp_figure_check(&good, NULL), TP_OK);
    series[0].rows = 3;
    panels[0].x.label = "";
    cr_expect_neq(tp_figure_check(&good, NULL), TP_OK);
}
