/* Allocations that fail: of every parser, on a small document, the first of every place that asks,
 * told by the calls that led there; of every command many. The program then says one line, prints
 * nothing, leaves no temporary file, and ends with status 3.
 *
 *     exhausted parsers|commands
 *
 * base/memory.c is the one place that calls malloc, calloc and realloc; the linker puts the three
 * functions below in their places (--wrap). GMP and cJSON ask there too, and a static LAPACKE asks
 * these functions. GLib doesn't, and isn't tried. Each try is a process of its own. */
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "commands/program.h"
#include "documents/documents.h"
#include "support/folder.h"

/* ---- allocations that fail ---- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t bytes);

enum { DEPTH = 12, MOST_PLACES = 1 << 14 };

/* Shared with the processes that try. */
static struct shared {
	atomic_long n_allocations;
	long n_places;
	uint64_t places[MOST_PLACES]; /* hashes of the calls */
	long first[MOST_PLACES]; /* the number of its first allocation */
} * shared;

static atomic_long left; /* 0: all succeed; n: the n-th from here fails */
static bool notes_places;

static void note_place(long allocation)
{
	void *calls[DEPTH];
	const int n = backtrace(calls, DEPTH);
	const uint64_t place = al_hash(AL_HASH_EMPTY, calls, (size_t)n * sizeof(*calls));

	for (long i = 0; i < shared->n_places; i++)
		if (shared->places[i] == place)
			return;
	if (shared->n_places == MOST_PLACES)
		abort();
	shared->places[shared->n_places] = place;
	shared->first[shared->n_places++] = allocation;
}

static bool fails(void)
{
	const long allocation = shared ? atomic_fetch_add(&shared->n_allocations, 1) + 1 : 0;

	if (shared && notes_places)
		note_place(allocation);
	return atomic_load(&left) > 0 && atomic_fetch_sub(&left, 1) == 1;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	return fails() ? NULL : __real_realloc(memory, bytes);
}

/* ---- one try ---- */

/* What is tried; the result is an exit status. */
struct subject {
	const char *name;
	int (*run)(const struct subject *subject);
	const struct parser *parser;
	const char *text;
	size_t length;
	char **argv;
	int argc;
};

struct outcome {
	int status;
	char printed[256], said[4096];
};

static struct test_folder folder; /* what a command writes */
static int out_file, err_file;

static void read_back(int file, char *text, size_t size)
{
	ssize_t n = pread(file, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
}

/* With its n-th allocation failing; 0: none. */
static struct outcome try(const struct subject *subject, long n)
{
	struct outcome outcome = {.status = -1};
	int status;

	if (ftruncate(out_file, 0) != 0 || ftruncate(err_file, 0) != 0)
		perror("ftruncate");
	atomic_store(&shared->n_allocations, 0);
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		dup2(out_file, STDOUT_FILENO);
		dup2(err_file, STDERR_FILENO);
		atomic_store(&left, n);
		status = subject->run(subject);
		/* what a build that counts lines takes on its way out is neither counted nor
		 * refused */
		atomic_store(&left, 0);
		shared = NULL;
		exit(status);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		perror("fork");
	else
		outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	read_back(out_file, outcome.printed, sizeof(outcome.printed));
	read_back(err_file, outcome.said, sizeof(outcome.said));
	return outcome;
}

/* ---- what must hold ---- */

static bool is_one_line(const char *text)
{
	const char *end = strchr(text, '\n');

	return end && end > text && !end[1];
}

/* Outputs end in their format's name; "figure.svg.a1B2c3" is a temporary file. */
static bool is_output(const char *path)
{
	static const char *const endings[] = {".csv", ".json", ".md", ".npy", ".pdf", ".png",
		".safetensors", ".svg", ".tex"};
	const char *ending = strrchr(path, '.');

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (ending && strcmp(ending, endings[i]) == 0)
			return true;
	return false;
}

static int find_unknown(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	(void)info;
	(void)at;
	return kind == FTW_F && !is_output(path);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	(void)info;
	(void)kind;
	(void)at;
	return remove(path);
}

static const char *what_is_wrong(const struct outcome *outcome)
{
	if (outcome->status != AL_ESYSTEM)
		return "the exit status is not 3";
	if (*outcome->printed)
		return "something is on standard output";
	if (!is_one_line(outcome->said))
		return "standard error is not one line";
	return nftw(folder.path, find_unknown, 8, FTW_PHYS) == 1 ? "a temporary file is left"
								 : NULL;
}

static bool check(const struct subject *subject, long n)
{
	const struct outcome outcome = try(subject, n);
	/* A run may make a few allocations fewer than the one that was counted: none failed. */
	const bool failed = atomic_load(&shared->n_allocations) >= n;
	const char *wrong = failed ? what_is_wrong(&outcome) : NULL;

	if (wrong)
		printf("%s: allocation %ld fails: %s (status %d)\n%s", subject->name, n, wrong,
			outcome.status, outcome.said);
	return !wrong;
}

/* ---- all tries ---- */

static bool is_ok = true;

/* Tries all allocations; returns how many there are, or 0. */
static long try_all(const struct subject *subject)
{
	const struct outcome outcome = try(subject, 0);
	const long n_allocations = atomic_load(&shared->n_allocations);

	if (outcome.status <= AL_ENO && n_allocations > 0)
		return n_allocations;
	printf("%s: status %d, %ld allocations\n%s", subject->name, outcome.status, n_allocations,
		outcome.said);
	is_ok = false;
	return 0;
}

static void report(const struct subject *subject, long n_allocations, long n_tries, long n_bad)
{
	printf("%s: %ld allocations, %ld tries\n", subject->name, n_allocations, n_tries);
	is_ok = is_ok && n_bad == 0;
}

/* The places that no document before it has come to. */
static void check_places(const struct subject *subject)
{
	const long first = shared->n_places;
	long n_bad = 0;

	notes_places = true;
	const long n_allocations = try_all(subject);
	notes_places = false;
	for (long i = first; i < shared->n_places && n_bad < 3; i++)
		n_bad += !check(subject, shared->first[i]);
	report(subject, n_allocations, shared->n_places - first, n_bad);
}

/* Every one of the first, then those that are further and further apart. */
static void check_many(const struct subject *subject)
{
	const long n_allocations = try_all(subject);
	long n_tries = 0, n_bad = 0;

	for (long n = 1; n <= n_allocations && n_bad < 3; n += n < 50 ? 1 : 1 + n / 16) {
		n_bad += !check(subject, n);
		n_tries++;
	}
	report(subject, n_allocations, n_tries, n_bad);
}

/* ---- parsers ---- */

static int run_parser(const struct subject *subject)
{
	struct al_error err = {0};

	if (subject->parser->parse(subject->text, subject->length, &err))
		return AL_OK;
	fprintf(stderr, "%s\n", err.message);
	return (int)err.status;
}

/* The first document of each parser. */
static const struct parser *tried;

static void check_document(const struct parser *parser, const char *name, const char *text,
	size_t length)
{
	struct al_error err;
	const struct subject subject = {.name = name,
		.run = run_parser,
		.parser = parser,
		.text = text,
		.length = length};

	if (tried == parser)
		return;
	tried = parser;
	/* what is made once, by the first document of all, is there */
	if (!parser->parse(text, length, &err))
		printf("%s: %s\n", name, err.message);
	check_places(&subject);
}

static void check_parsers(void)
{
	documents_begin();
	for (const struct parser *p = parsers; p->name; p++)
		visit_documents(p, check_document);
	documents_end();
}

/* ---- commands ---- */

/* With its layout, which would be looked for among all families each time; reconcile does. */
#define TENSORS "tests/data/small-bert.safetensors --heads 3 "
#define CHECKPOINT TENSORS "--layout bert "

/* "@" is a folder for what they write; what one writes others read. */
static const char *const lines[] = {
	"--help",
	"--version",
	"list variants",
	"list models --source gpt2",
	"variants mla -f latex",
	"variants mqa --against mha --order seq",
	"count tests/data/t5-small.json --tensors",
	"count bert-base --variant mha,mqa --explain -o @/count.json",
	"memory gpt2 --train --recipe smith2022 --batch 8 --seq 128 -f csv",
	"memory gpt2 --batch 8 --seq 128 -f markdown",
	"cache tests/data/gemma-3-270m.json --seq 4096",
	"diff memory\tgpt2 memory\tgpt2\t--train\t--batch=2",
	"sweep gpt2 --variant mha --over n_heads=1:3 -o @/sweep.csv --figure @/sweep.svg",
	"fit gpt2 --device 16GiB --seq 128",
	"run example-own-variant -o @",
	"check mhe-memory",
	"inspect tests/data/odd.safetensors --values",
	"reconcile " TENSORS "--tensors",
	"audit " CHECKPOINT "--null 1 --threads 1 --tables @",
	"audit " CHECKPOINT "--only heads,similarity --threads 1 --shard 1/1 --fragment @",
	"merge @ -f json",
	"compress " CHECKPOINT "--method collab --rank 6 --threads 1 -o @/out.safetensors",
	"verify " CHECKPOINT "@/out.safetensors --threads 1",
};

enum { MOST_WORDS = 16 };

/* Without what begins a program once more: that would be this test. */
static int run_command_line(const struct subject *subject)
{
	const struct al_program program = {.commands = al_full_program.commands,
		.draw = al_full_program.draw,
		.set_threads = al_full_program.set_threads};

	return al_command_line(subject->argc, subject->argv, &program);
}

/* Cuts the line into words; `room` holds them. */
static int split(const char *line, char *room, size_t size, char *argv[MOST_WORDS])
{
	int argc = 0;
	size_t used = 0;

	for (const char *p = line; *p; p++)
		used += (size_t)snprintf(room + used, size - used, *p == '@' ? "%s" : "%.1s",
			*p == '@' ? folder.path : p);
	argv[argc++] = (char[]){"attnledger"};
	for (char *word = strtok(room, " "); word && argc < MOST_WORDS - 1;
		word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return argc;
}

static void check_command(const char *line)
{
	char room[1024], *argv[MOST_WORDS];
	struct subject subject = {.name = line, .run = run_command_line, .argv = argv};

	subject.argc = split(line, room, sizeof(room), argv);
	check_many(&subject);
}

static void check_commands(void)
{
	test_folder_make(&folder);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		check_command(lines[i]);
	nftw(folder.path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- both ---- */

static int open_file(void)
{
	char path[] = "/tmp/attnledger-test-XXXXXX";
	int file = mkstemp(path);

	if (file < 0) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	unlink(path);
	fcntl(file, F_SETFL, O_APPEND);
	return file;
}

int main(int argc, char **argv)
{
	const int memory = open_file();

	out_file = open_file();
	err_file = open_file();
	if (argc != 2 || ftruncate(memory, sizeof(*shared)) != 0)
		return EXIT_FAILURE;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (shared == MAP_FAILED)
		return EXIT_FAILURE;
	setvbuf(stdout, NULL, _IOLBF, 0);
	al_memory_guard(al_end_exhausted);
	if (strcmp(argv[1], "parsers") == 0)
		check_parsers();
	else
		check_commands();
	return is_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
