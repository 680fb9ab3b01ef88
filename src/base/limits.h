/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_LIMITS_H
#define TP_BASE_LIMITS_H

/*
 * Every cap of this program, with its reason. A cap exists to bound memory
 * or time against hostile input; none is meant to be met by real files.
 */

/* torch itself refuses more than 64 dimensions (c10 kDimVectorStaticSize is
 * smaller, but at::TensorIterator and the serializer stop at 64). */
#define TP_LIMIT_DIMS 64

/* How often a view may show each stored element by overlapping itself, axes
 * of stride 0 apart (those are counted, not walked). Sliding windows reach
 * their window length; beyond this, 1 MB would claim more than 2 * 10^9. */
#define TP_LIMIT_OVERLAP 4096

/* Scratch through which strided views are read: 1 MiB fits the second level
 * cache of current cores. (What a large tensor is split along is said in
 * src/scan/pass.h.) */
#define TP_CHUNK_BYTES ((size_t)1 << 20)

/* A pickle larger than this is refused. The object part of a checkpoint with
 * 10^6 tensors takes about 200 bytes each, 200 MB; raw storages never count,
 * except the byte strings of the plain pickle fallback. */
#define TP_LIMIT_PICKLE_BYTES ((uint64_t)1 << 30)

/* Values one pickle may build: 10^6 tensors need about 2*10^7. The machine
 * itself must stay below 64 bytes a value. */
#define TP_LIMIT_PICKLE_VALUES ((uint64_t)1 << 25)

/* Values a pickle may build beyond one for two of its bytes, None, truths and
 * the empty tuple counted once: picklers remember every list, dict and tuple
 * they make, by an opcode of its own, and numbers and texts have two bytes or
 * more. So no pickle takes more than 64 MB and 32 bytes a byte. */
#define TP_LIMIT_PICKLE_SHORT ((uint64_t)1 << 20)

/* Deflate cannot expand more than 1032 : 1 (a match of 258 bytes from two
 * bits), so a record that claims more is a lie. */
#define TP_LIMIT_DEFLATE_RATIO 1032

/* What expands by more than this is nearly all of one value; tensors that
 * were trained expand by less than 10. Of such records an archive may have, and
 * of such bytes a file in gzip, so many unpacked: they would cost a time out of
 * all proportion to the file. */
#define TP_LIMIT_THIN_RATIO 256
#define TP_LIMIT_THIN_BYTES ((uint64_t)64 << 20)

/* Deflated records up to this size are inflated into memory, larger ones
 * into an unlinked temporary file: one buffer per job. */
#define TP_LIMIT_INFLATE_MEMORY ((uint64_t)4 << 20)

/* Archives in one file: a shard of a distributed checkpoint has one for each
 * of its tensors, and models have up to some 10^4. */
#define TP_LIMIT_ARCHIVES ((size_t)1 << 16)

/* Nesting of containers when tensors are searched in a value: Python's own
 * pickler gives up near 1 000 levels. */
#define TP_LIMIT_NESTING 10000

/* Nesting of directories; PATH_MAX is 4096, so no real tree is deeper. */
#define TP_LIMIT_DIRECTORY_DEPTH 2048

/* Bytes of one text of a label. Names of files end at 255; a longer text in
 * metadata would make every row of a table as wide (strings have a fixed
 * width there), so it counts as absent. */
#define TP_LIMIT_LABEL_BYTES 255

/* Bytes of a file of metrics beside a trace: a script writes some hundred, and
 * one with every step's time less than this for 40 000 steps. */
#define TP_LIMIT_METRICS_BYTES ((uint64_t)1 << 20)

/* Bytes of one name in the tables of traces; longer ones are cut there. Names
 * of kernels are C++ signatures; the longest of the public traces that the
 * tests read has 5 123 bytes. */
#define TP_LIMIT_NAME_BYTES 8192

/* One event of a trace. Call stacks and shapes make real ones some 10 KB; a
 * trace whose events cannot be told apart ends here. */
#define TP_LIMIT_TRACE_EVENT ((size_t)64 << 20)

/* What a trace says beside its events: properties of devices, the job's
 * environment, log lines. Real ones stay below 100 KB. */
#define TP_LIMIT_TRACE_FACTS ((size_t)16 << 20)

/* One member of a JSON file that is read whole: a call of a dump with all its
 * arguments, of which real ones have some KB, or the names of all calls from
 * one line, some MB for 10^5 of them. As a tree it takes up to 41 times as
 * much: a zero and its comma become a value of 80 bytes, and there is room for
 * the text once more. SECURITY.md has what whole runs take, as below. */
#define TP_LIMIT_JSON_VALUE ((size_t)16 << 20)

/* Nesting of lists and objects; dumps stop at 400. */
#define TP_LIMIT_JSON_DEPTH 1024

/* Bytes of a file that maps names of one run to those of another: 100 bytes a
 * line, for 10^5 tensors. */
#define TP_LIMIT_MAP_BYTES (16 << 20)

/* Elements of a tensor that is held in memory to be computed with: 8 GiB of
 * doubles. The largest of models, a layer of logits of 128 000 words for 8 192
 * tokens, has this many; views may claim any number. */
#define TP_LIMIT_REPLAY_VALUES ((int64_t)1 << 30)

/* Bytes of a Python script: of those people write, 1 MB is rare; tables that
 * programs write reach some 10 MB. Tokens and tree take up to 40 times as
 * much. */
#define TP_LIMIT_SCRIPT_BYTES ((size_t)256 << 20)

/* Bytes of a notebook: figures in its cells make some 10 MB. Its tree takes up
 * to 36 times as much where an output is a list of numbers. */
#define TP_LIMIT_NOTEBOOK_BYTES ((size_t)64 << 20)

/* Bytes of a shell script that starts a run: people write some KB. */
#define TP_LIMIT_SHELL_BYTES ((size_t)4 << 20)

/* Bytes of a JSON file that may be a configuration of DeepSpeed; larger ones
 * are data. */
#define TP_LIMIT_CONFIG_BYTES ((size_t)1 << 20)

/* How deep expressions of a script nest. CPython allows 200 brackets in each
 * other; calls of calls go deeper, and walking the tree takes some 100 bytes
 * of the stack for each. */
#define TP_LIMIT_SCRIPT_DEPTH 1000

/* Iterations that an option may name: beyond any run, and sums of two of
 * them fit 64 bits. */
#define TP_LIMIT_ITERATIONS 1000000000

/* Jobs: more threads than this only cost memory (about 3 MiB each). */
#define TP_LIMIT_JOBS 1024

#endif
