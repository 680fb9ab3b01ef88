/* SPDX-License-Identifier: MIT */
/*
 * The whole command line over a directory that is made from the input. The
 * first byte says which command, and then each file is
 *
 *     NAME SIZE SIZE SIZE BYTES...
 *
 * NAME the number of one of the names below, SIZE little-endian; the last file
 * has what is left. Whatever they hold: the program comes back, with an exit
 * status that the manual has, and leaves nothing aside in its output directory.
 * tests/fuzz/pack.py makes inputs of files.
 */
#define _XOPEN_SOURCE 700 /* mkdtemp, nftw */
#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "fuzz.h"

int tp_program(int argc, char **argv);

enum { MOST_WORDS = 16, HEAD = 4, MOST_FILES = 24 };

/* What an argument that starts so stands for: a path in the directory. */
#define IN "@"

static const char *const commands[][MOST_WORDS] = {
    {"tensors", IN "in"},
    {"trace", IN "in"},
    {"dump", "--recover", IN "in"},
    {"compare", IN "in/a", IN "in/b"},
    {"replay", IN "in"},
    {"check", IN "in"},
    {"inspect", IN "in/0.pt", IN "in/0.npz", IN "in/0.safetensors",
     IN "in/0.pt2", IN "in/0.bin", IN "in/0.npy"},
    {"merge", IN "in/a.state", IN "in/b.state"},
    {"tensors", "--parts", "--dims", "all", "--formats",
     "hif8,mxfp4,nvfp4,e4m3", "--state", IN "in/a.state", IN "in"},
    {"compare", "--match", "content", IN "in/a", IN "in/b"},
    {"compare", "--map", IN "in/map", IN "in/a", IN "in/b"},
    {"replay", "--config", IN "in/config.json", IN "in"},
    {"trace", "--annotate", IN "annotated", "--output_json", IN "t.json",
     IN "in"},
    {"tensors", "--scripts", IN "in", "--pairs", "all", IN "in"},
    {"trace", "--compare", IN "in/a", IN "in/b"},
};

/* By number: a name keeps its own as long as there are inputs. */
static const char *const names[] = {
    "0.pt",
    "1.pt",
    "0.bin",
    "0.npy",
    "0.npz",
    "0.pt2",
    "0.safetensors",
    "0.pt.gz",
    "model.safetensors.index.json",
    "pytorch_model.bin.index.json",
    ".metadata",
    "__0_0.distcp",
    "mp_rank_00/model_optim_rng.pt",
    "mp_rank_01/model_optim_rng.pt",
    "dump.json",
    "stack.json",
    "construct.json",
    "dump_tensor_data/0.pt",
    "dump_tensor_data/1.pt",
    "0.pt.trace.json",
    "1.pt.trace.json",
    "0.pt.trace.json.gz",
    "memory.json",
    "train.py",
    "a.ipynb",
    "run.sh",
    "ds_config.json",
    "pyproject.toml",
    "activations.log",
    "a/0.pt",
    "b/0.pt",
    "a/dump.json",
    "b/dump.json",
    "a/0.safetensors",
    "b/0.safetensors",
    "a/0.pt.trace.json",
    "b/0.pt.trace.json",
    "map",
    "config.json",
    "a.state",
    "b.state",
    "20250101_000000_0001_attention_L0_forward_pre_bf16_rank00_sample000_"
    "group000_query.pt",
    "20250101_000000_0002_linear_L1_backward_post_mxfp8_rank00_sample000_"
    "group000_output.pt",
    "iter1/0.pt",
    "iter2/0.pt",
    "shard-00001-model-00001-of-00001.safetensors",
    "shard-00002-model-00001-of-00001.safetensors",
    "metrics.json",
    "__0.metadata",
    "__1.metadata",
};

static char root[256];

static int remove_one(const char *path, const struct stat *info, int kind,
                      struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remove_root(void)
{
    remove_tree(root);
}

static void make_root(void)
{
    const char *base = getenv("TMPDIR");
    if (*root)
        return;
    if (!base || !*base)
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(root, sizeof root, "%s/fuzz_command.XXXXXX", base);
    fuzz_need(mkdtemp(root) != NULL, "there is room for a directory");
    atexit(remove_root);
}

/* A path below the root, whose folders are made. */
static void path_of(const char *name, char path[PATH_MAX])
{
    size_t from = strlen(root) + 1;
    snprintf(path, PATH_MAX, "%s/%s", root, name);
    for (char *end; (end = strchr(path + from, '/')); from++) {
        *end = '\0';
        mkdir(path, 0700);
        *end = '/';
        from = (size_t)(end - path);
    }
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
    char below[PATH_MAX / 2], path[PATH_MAX];
    snprintf(below, sizeof below, "in/%s", name);
    path_of(below, path);
    FILE *file = fopen(path, "wb");
    fuzz_need(file && fwrite(data, 1, size, file) == size && !fclose(file),
              "a file of the input");
}

static void write_files(const uint8_t *data, size_t size)
{
    char path[PATH_MAX];
    path_of("in/a/b/", path);
    for (int i = 0; i < MOST_FILES && size > HEAD; i++) {
        size_t length = data[1] | (size_t)data[2] << 8 | (size_t)data[3] << 16;
        const char *name = names[data[0] % (sizeof names / sizeof *names)];
        data += HEAD;
        size -= HEAD;
        if (length > size)
            length = size;
        write_file(name, data, length);
        data += length;
        size -= length;
    }
}

/* Runs it with standard output and error thrown away: of the C library, so that
 * a sanitizer still has its own. */
static int run_quietly(int argc, char **argv)
{
    FILE *out = stdout, *err = stderr, *nothing = fopen("/dev/null", "w");
    fuzz_need(nothing != NULL, "/dev/null");
    stdout = stderr = nothing;
    const int result = tp_program(argc, argv);
    stdout = out;
    stderr = err;
    fclose(nothing);
    return result;
}

static int run(const char *const *words)
{
    static char texts[MOST_WORDS][PATH_MAX / 2];
    char program[] = "tprof-analyze", plots[] = "--no_plots",
         sandbox[] = "--no_sandbox", jobs[] = "--jobs=1", output[512];
    char *argv[MOST_WORDS + 8] = {program};
    int argc = 1;
    snprintf(output, sizeof output, "--output_dir=%s/out", root);
    for (int i = 0; i < MOST_WORDS && words[i]; i++) {
        snprintf(texts[i], sizeof texts[i], "%s%s%s",
                 words[i][0] == '@' ? root : "", words[i][0] == '@' ? "/" : "",
                 words[i] + (words[i][0] == '@'));
        argv[argc++] = texts[i];
    }
    const bool draws = strcmp(words[0], "check") && strcmp(words[0], "inspect");
    argv[argc++] = jobs;
    if (draws) {
        argv[argc++] = plots;
        argv[argc++] = output;
    }
    argv[argc++] = sandbox;
    argv[argc] = NULL;
    return run_quietly(argc, argv);
}

/* What is aside starts with a dot; a lock may stay. */
static void check_output(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/out", root);
    DIR *folder = opendir(path);
    for (struct dirent *at; folder && (at = readdir(folder));)
        fuzz_need(at->d_name[0] != '.' || strcmp(at->d_name, ".") == 0 ||
                      strcmp(at->d_name, "..") == 0,
                  "nothing is left aside");
    if (folder)
        closedir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    make_root();
    write_files(data + 1, size - 1);
    const size_t which = data[0] % (sizeof commands / sizeof *commands);
    const int status = run(commands[which]);
    fuzz_need(status >= 0 && status <= 4, "an exit status of the manual");
    fuzz_need(status != 2 || which == 10 || which == 11 || which == 7,
              "what is asked is no error of usage");
    check_output();
    remove_tree(root);
    fuzz_need(mkdir(root, 0700) == 0, "the directory, empty");
    return 0;
}
