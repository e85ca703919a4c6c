/* A copy as a GGUF file that llama.cpp runs: the source's metadata and tensors, but for the heads.
 *
 *= ggml-org/llama.cpp, src/llama-model.cpp: a head is as wide as key_length and value_length give,
 * else embedding_length over head_count */
#include <assert.h>

#include "compress/plan.h"
#include "formats/gguf.h"
#include "formats/gguf_write.h"

/* Why llama.cpp has no graph for what a method leaves; NULL: it has one. */
static const char *const reasons[AL_N_METHODS] = {
	[AL_METHOD_COLLAB] = "all heads share queries and keys",
	[AL_METHOD_TUCKER] = "queries and keys are products of two matrices",
	[AL_METHOD_QK] = "queries and keys are narrower than values",
	[AL_METHOD_LATENT] = "keys or values are products of two matrices",
	[AL_METHOD_MHE_MUL] = "all heads share queries, keys and values",
};

static const char *reason_of(const struct al_compress_options *options)
{
	return options->method == AL_METHOD_GQA && !options->of_keys
		? "more heads share values than keys"
		: reasons[options->method];
}

bool al_job_check_gguf(const struct al_job *job, const char *path, struct al_error *err)
{
	const char *reason = reason_of(job->options);

	return !reason
		|| al_fail(err, AL_EINPUT,
			"-o %s: llama.cpp can't run --method %s (%s); use gqa, drop or merge, or "
			"-o FILE.safetensors",
			path, al_method_names[job->options->method], reason);
}

static bool fail_uneven(const struct al_job *job, struct al_error *err)
{
	const struct al_attention *modules = job->view->modules;
	struct al_head_sizes first, other;

	al_job_sizes(job, &modules[0], &first);
	for (size_t i = 1; i < job->view->n_modules; i++) {
		al_job_sizes(job, &modules[i], &other);
		if (memcmp(&first, &other, sizeof(first)) != 0)
			return al_fail(err, AL_EINPUT,
				"%s would have %" PRId64 " heads (%" PRId64
				" of keys and values), %s %" PRId64 " (%" PRId64
				"), but llama.cpp takes one number for all layers of this family: "
				"change all layers alike, or use -o FILE.safetensors",
				modules[0].name, first.n_heads, first.n_kv_heads, modules[i].name,
				other.n_heads, other.n_kv_heads);
	}
	return al_fail(err, AL_EINPUT,
		"llama.cpp can't run models of family %s with %" PRId64 " heads (%" PRId64
		" of keys and values), each %" PRId64 " wide: use -o FILE.safetensors",
		job->view->family->name, first.n_heads, first.n_kv_heads, first.d_head);
}

bool al_job_describe_gguf(struct al_job *job, const struct al_plan *plan, struct al_error *err)
{
	AL_TEXT(config);

	if (job->n_modules == 0)
		return true;
	if (!al_job_edit_config(job, plan, &config, &job->sizes))
		return fail_uneven(job, err);
	job->config_note = al_format(&job->arena,
		"%" PRId64 " heads, %" PRId64 " of keys and values, %" PRId64
		" wide: the file's metadata have these sizes, so llama.cpp runs it",
		job->sizes.n_heads, job->sizes.n_kv_heads, job->sizes.d_head);
	return true;
}

struct entries {
	struct al_job *job;
	struct al_gguf_entry items[24];
	size_t n;
};

static void add(struct entries *entries, struct al_gguf_entry entry)
{
	assert(entries->n < sizeof(entries->items) / sizeof(*entries->items));
	entries->items[entries->n++] = entry;
}

/* "llama.attention.head_count" and so on, of the source's architecture. */
static void add_sizes(struct entries *entries)
{
	struct al_job *job = entries->job;
	const struct {
		const char *key;
		int64_t value;
	} sizes[] = {
		{"head_count", job->sizes.n_heads},
		{"head_count_kv", job->sizes.n_kv_heads},
		{"key_length", job->sizes.d_head},
		{"value_length", job->sizes.d_head},
	};
	const char *architecture = al_checkpoint_metadata(job->view->checkpoint,
		"general.architecture");

	for (size_t i = 0; architecture && i < sizeof(sizes) / sizeof(*sizes); i++)
		add(entries,
			(struct al_gguf_entry){.key = al_format(&job->arena, "%s.attention.%s",
						       architecture, sizes[i].key),
				.number = (uint32_t)sizes[i].value});
}

/* llama.cpp names a file by its file type, which is no longer the source's: without one it guesses.
 *= ggml-org/ggml, docs/gguf.md: quantized tensors need the version */
static void add_formats(struct entries *entries)
{
	add(entries, (struct al_gguf_entry){.key = "general.file_type", .is_left_out = true});
	add(entries, (struct al_gguf_entry){.key = "general.quantization_version", .number = 2});
}

bool al_plan_create_gguf(const struct al_plan *plan, const char *path,
	struct al_tensor_writer **out, struct al_error *err)
{
	static const char *const of_parts[] = {"split.no", "split.count", "split.tensors.count"};
	struct entries entries = {.job = plan->job};
	size_t n;
	const struct al_metadata *record = al_job_record(plan->job, NULL, &n);

	if (plan->job->n_modules > 0)
		add_sizes(&entries);
	if (plan->job->dtype || plan->job->options->formats)
		add_formats(&entries);
	for (size_t i = 0; i < sizeof(of_parts) / sizeof(*of_parts); i++)
		add(&entries, (struct al_gguf_entry){.key = of_parts[i], .is_left_out = true});
	for (size_t i = 0; i < n; i++)
		add(&entries,
			(struct al_gguf_entry){.key = record[i].key, .text = record[i].value});
	return al_gguf_create(out, path, &plan->job->view->checkpoint->shards[0], entries.items,
		entries.n, plan->headers, plan->n, err);
}
