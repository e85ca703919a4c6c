/* Matrices that the system can't give. Their size is a stranger's, so that this is an error like
 * any other (status 3, one line), wherever a command or a
 * decomposition asks for one.
 *
 * The linker puts __wrap_al_try_calloc in the place of the function that all of them ask. Of every
 * place that asks, told by the calls that led there, the first request fails once. */
#include "command_line.h"

#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "linalg/cp.h"
#include "linalg/tucker.h"
#include "support/state_dict.h"
#include "tensors.h"

/* ---- requests ---- */

enum { DEPTH = 7, MOST_PLACES = 4096 };

static struct {
	atomic_long n;
	long n_places;
	uint64_t places[MOST_PLACES]; /* hashes of the calls */
	long first[MOST_PLACES]; /* the number of its first request */
} requests;

static long fails_at; /* 0: none, requests are noted */

void *__real_al_try_calloc(size_t count, size_t size, struct al_error *err);
void *__wrap_al_try_calloc(size_t count, size_t size, struct al_error *err);

static void note_place(long request)
{
	void *calls[DEPTH];
	const int n = backtrace(calls, DEPTH);
	const uint64_t place = al_hash(AL_HASH_EMPTY, calls, (size_t)n * sizeof(*calls));

	for (long i = 0; i < requests.n_places; i++)
		if (requests.places[i] == place)
			return;
	if (requests.n_places == MOST_PLACES)
		abort();
	requests.places[requests.n_places] = place;
	requests.first[requests.n_places++] = request;
}

void *__wrap_al_try_calloc(size_t count, size_t size, struct al_error *err)
{
	const long request = atomic_fetch_add(&requests.n, 1) + 1;

	if (fails_at == 0)
		note_place(request);
	else if (request == fails_at) {
		al_fail(err, AL_ESYSTEM, "out of memory (%zu x %zu bytes)", count, size);
		return NULL;
	}
	return __real_al_try_calloc(count, size, err);
}

/* ---- one try ---- */

/* What is tried: a command's line, or a decomposition. */
struct subject {
	const char *name;
	bool (*decompose)(struct al_error *err);
};

static struct test_folder folder; /* what commands read and write: "@" in their lines */

static int out_file, err_file;

static int run_decomposition(const struct subject *subject)
{
	struct al_error err = {0};

	al_threads_set(1);
	if (subject->decompose(&err))
		return AL_OK;
	dprintf(err_file, "%s\n", err.message);
	return (int)err.status;
}

/* Its exit status where the n-th request fails. What an earlier try kept would spare some. */
static int run(const struct subject *subject, long n)
{
	char kept[256];

	(void)unlink(test_path(kept, &folder, "of-gpt2/calibration.safetensors.frontier"));
	assert_true(ftruncate(out_file, 0) == 0 && ftruncate(err_file, 0) == 0);
	atomic_store(&requests.n, 0);
	fails_at = n;
	return subject->decompose
		? run_decomposition(subject)
		: test_command_line_into(subject->name, &folder, "", out_file, err_file);
}

static void read_back(int file, char text[4096])
{
	const ssize_t n = pread(file, text, 4095, 0);

	text[n > 0 ? n : 0] = '\0';
}

/* Nothing is printed but one line that says how much was wanted. */
static bool is_refusal(int status, const char *printed, const char *said)
{
	const char *end = strchr(said, '\n');

	return status == AL_ESYSTEM && !*printed && end && !end[1]
		&& strstr(said, "out of memory (");
}

/* Tries the places that no subject before it has come to. */
static size_t check(const struct subject *subject)
{
	char printed[4096], said[4096];
	size_t n_wrong = 0;
	const long first = requests.n_places;

	const int status = run(subject, 0);
	read_back(err_file, said);
	if (status != AL_OK || atomic_load(&requests.n) == 0)
		fail_msg("%s: status %d, %ld requests: %s", subject->name, status,
			atomic_load(&requests.n), said);
	for (long i = first; i < requests.n_places; i++) {
		const long request = requests.first[i];
		const int failed = run(subject, request);
		read_back(out_file, printed);
		read_back(err_file, said);
		if (is_refusal(failed, printed, said))
			continue;
		print_error("%s: request %ld: status %d, \"%s\", \"%s\"\n", subject->name, request,
			failed, printed, said);
		n_wrong++;
	}
	return n_wrong;
}

/* ---- checkpoints ---- */

static void write_checkpoint(const char *name)
{
	struct state_dict *dict = state_dict_read(name);
	struct test_folder into;

	assert_true(snprintf(into.path, sizeof(into.path), "%s/%s", folder.path, name)
		< (int)sizeof(into.path));
	assert_int_equal(mkdir(into.path, 0777), 0);
	state_dict_write(dict, &into, true);
	state_dict_finish(dict);
}

/* Squares on the diagonal, as .npy. */
static void write_covariance(size_t n)
{
	static const char header[] =
		"{'descr': '<f8', 'fortran_order': False, 'shape': (12, 12), }";
	unsigned char bytes[128 + 12 * 12 * sizeof(double)] = "\x93NUMPY\x01\x00\x76\x00";
	double value = 1;
	char path[256];

	memset(bytes + 10, ' ', 117);
	memcpy(bytes + 10, header, sizeof(header) - 1);
	bytes[127] = '\n';
	for (size_t i = 0; i < n; i++, value += 1)
		memcpy(bytes + 128 + (i * n + i) * sizeof(value), &value, sizeof(value));
	test_write(test_path(path, &folder, "covariance.npy"), bytes, sizeof(bytes));
}

/* With its layout, which would be looked for among all families each time. */
#define BERT "tests/data/small-bert.safetensors --heads 3 --layout bert --threads 1 "

#define TOKENS "--tokens @/ids "
#define GPT2 "compress @/gpt2 --force --threads 1 -o @/out.safetensors "
#define LLAMA "compress @/llama --force --threads 1 -o @/out.safetensors "

static const char *const lines[] = {
	"audit " BERT "--null 1 --across",
	"audit " BERT "--null 0 --center --calibration @/covariance.npy --only heads,layers",
	"audit " BERT "--null 0 --against tests/data/small-bert.safetensors",
	"audit @/t5 --null 1 --threads 1 --fold-norms --only heads,layers,conversion",
	"audit @/gpt_bigcode --null 1 --threads 1",
	"audit @/llama --null 1 --threads 1 --offset 3",
	"audit @/deepseek_v2 --null 0 --threads 1",
	"audit tests/data/rounded.safetensors --heads 2 --layout bert --null 1 --threads 1",
	"compress " BERT "--method collab --rank 5 --sweeps 3 -o @/collab.safetensors",
	"compress " BERT "--method collab --target-error 0.2 --sweeps 3 -o @/collab.safetensors",
	"compress " BERT "--method tucker --rank 5 -o @/tucker.safetensors",
	"compress " BERT "--method qk --rank 2 -o @/qk.safetensors",
	"compress " BERT "--method drop --drop 0:1 -o @/drop.safetensors",
	"compress @/gpt_bigcode --method collab --rank 3 --threads 1 -o @/collab.safetensors",
	"calibrate @/gpt2 " TOKENS "--threads 1 -o @/of-gpt2",
	"calibrate @/llama " TOKENS "--threads 1 -o @/of-llama",
	GPT2 "--method ov --rank 2",
	GPT2 "--method ov --rank 2 --calibration @/of-gpt2 --refit sequential " TOKENS,
	GPT2 "--method ov --rank 2 --calibration @/of-gpt2 --measure gain",
	GPT2 "--method kv-latent --rank 6 --calibration @/of-gpt2",
	"verify @/gpt2 @/out.safetensors " TOKENS "--threads 1",
	GPT2 "--method kv-latent --of keys --rank 6 --calibration @/of-gpt2",
	GPT2 "--method qk --rank 2 --calibration @/of-gpt2",
	GPT2 "--method tucker --rank 5 --calibration @/of-gpt2",
	GPT2 "--method collab --rank 5 --calibration @/of-gpt2",
	GPT2 "--method drop --drop 1 --calibration @/of-gpt2",
	LLAMA "--method gqa --of values --rank 1 --calibration @/of-llama",
	LLAMA "--method gqa --rank 1 --calibration @/of-llama",
	"audit @/gpt2 --null 0 --threads 1 --only conversion --calibration @/of-gpt2 " TOKENS,
	"audit @/gpt2 --null 0 --threads 1 --only drop --calibration @/of-gpt2 " TOKENS,
};

static void every_place_of_commands_may_fail(void **state)
{
	size_t n_wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		n_wrong += check(&(struct subject){.name = lines[i]});
	assert_int_equal(n_wrong, 0);
}

/* ---- decompositions that no command asks for ---- */

/* Made before anything fails. */
static struct layer grouped, collaborative;

static bool tucker(const struct al_heads *heads, struct al_tucker_options options,
	struct al_error *err)
{
	struct al_tucker found;

	if (!al_tucker(heads, &options, &found, err))
		return false;
	al_tucker_finish(&found);
	return true;
}

static bool cp(const struct al_heads *heads, struct al_cp_options options, struct al_error *err)
{
	struct al_cp found;

	if (!al_cp(heads, &options, &found, err))
		return false;
	al_cp_finish(&found);
	return true;
}

static bool tucker_of_all_modes(struct al_error *err)
{
	return tucker(&grouped.heads,
		(struct al_tucker_options){.modes = AL_TUCKER_FULL,
			.head_rank = 3,
			.query_rank = 5,
			.key_rank = 4,
			.n_sweeps = 3},
		err);
}

static bool tucker_by_tolerance(struct al_error *err)
{
	return tucker(&grouped.heads,
		(struct al_tucker_options){.modes = AL_TUCKER_FULL, .tolerance = 0.3}, err);
}

static bool tucker_by_random_ranges(struct al_error *err)
{
	const struct al_tucker_options options = {.query_rank = 4,
		.key_rank = 4,
		.finder = AL_TUCKER_RANDOM,
		.seed = 1};

	return tucker(&grouped.heads, options, err) && tucker(&grouped.single, options, err);
}

static bool cp_from_each_start(struct al_error *err)
{
	for (int start = AL_CP_AUTO; start <= AL_CP_ALGEBRAIC; start++) {
		const struct al_cp_options options = {.rank = 8,
			.start = (enum al_cp_start)start,
			.n_sweeps = 3};
		if (!cp(&collaborative.heads, options, err)
			|| !cp(&collaborative.single, options, err))
			return false;
	}
	return true;
}

static void every_place_of_decompositions_may_fail(void **state)
{
	static const struct subject subjects[] = {
		{"Tucker of all modes", tucker_of_all_modes},
		{"Tucker by tolerance", tucker_by_tolerance},
		{"Tucker by random ranges", tucker_by_random_ranges},
		{"CP from each start", cp_from_each_start},
	};
	size_t n_wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(subjects) / sizeof(*subjects); i++)
		n_wrong += check(&subjects[i]);
	assert_int_equal(n_wrong, 0);
}

/* ---- both ---- */

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	(void)info;
	(void)kind;
	(void)at;
	return remove(path);
}

static int open_file(void)
{
	char path[256];
	const int file = open(test_path(path, &folder, "output"), O_RDWR | O_CREAT | O_APPEND,
		0600);

	assert_true(file >= 0 && unlink(path) == 0);
	return file;
}

static int set_up(void **state)
{
	static const char *const names[] = {"t5", "gpt_bigcode", "llama", "deepseek_v2", "gpt2"};

	char ids[256];

	(void)state;
	setenv("OMP_WAIT_POLICY", "passive", 1); /* else a command starts itself once more */
	test_folder_make(&folder);
	out_file = open_file();
	err_file = open_file();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		write_checkpoint(names[i]);
	write_covariance(12);
	test_write(test_path(ids, &folder, "ids"), "1 5 9 13 2 4\n3 3 7 0\n", 21);
	grouped = gaussian_layer((struct sizes){6, 2, 4, 17, 13}, 1);
	collaborative = collaborative_layer(24, 4, 4, 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	finish_layer(&collaborative);
	finish_layer(&grouped);
	return nftw(folder.path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_place_of_commands_may_fail),
		cmocka_unit_test(every_place_of_decompositions_may_fail),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
