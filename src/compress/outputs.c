/* Where a compressed checkpoint goes: one file, or a folder with the original's shards under their
 * names, each tensor in the shard where its original is, their index, a config.json, and the files
 * to read and write text.
 *
 * The files are known before the first byte is written, and come one after the other. */
#include <sys/stat.h>

#include "base/embedded.h"
#include "base/file.h"
#include "base/output.h"
#include "compress/plan.h"
#include "formats/format.h"
#include "formats/safetensors.h"

static const char config_name[] = "config.json", modeling_name[] = "modeling_attnledger.py";

extern const struct al_embedded_list al_embedded_modeling;

/* Files that programs read in addition to a model's weights and config: copied as they are. */
static const char *const companions[] = {"tokenizer.json", "tokenizer_config.json",
	"special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt",
	"tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tokenizer.bin",
	"chat_template.jinja", "chat_template.json", "generation_config.json"};
enum { N_COMPANIONS = sizeof(companions) / sizeof(*companions) };

/* Larger ones are something else. */
enum { MOST_COMPANION_BYTES = 256 << 20 };

/* ---- which files ---- */

struct files {
	const char **names; /* the shards', in their order; the index's, the config's, the
				modelling file's; others */
	const char *folder; /* the original's, with its slash */
	size_t n, n_shards;
	bool has_index, has_config, has_modeling;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* A file of another format becomes one of safetensors. */
static const char *shard_name(const struct al_shard *shard)
{
	return strcmp(shard->format, "safetensors") == 0 ? base_name(shard->source.path)
							 : "model.safetensors";
}

/* "models/a/" of "models/a/model.safetensors". */
static const char *folder_of(struct al_arena *arena, const char *path)
{
	return al_strndup(arena, path, (size_t)(base_name(path) - path));
}

static bool is_file(const char *path)
{
	return al_path_kind(path) == AL_PATH_FILE;
}

/* Made of the source's header, where no file beside it has the name. */
static const char *made_text(const struct al_checkpoint *source, const char *name)
{
	return strcmp(name, "tokenizer.json") == 0	     ? source->tokenizer
		: strcmp(name, "tokenizer_config.json") == 0 ? source->tokenizer_config
							     : NULL;
}

static void list_companions(struct files *files, const struct al_checkpoint *source,
	struct al_arena *arena)
{
	for (size_t i = 0; i < N_COMPANIONS; i++)
		if (is_file(al_format(arena, "%s%s", files->folder, companions[i]))
			|| made_text(source, companions[i]))
			files->names[files->n++] = companions[i];
}

static struct files list_files(const struct al_job *job, struct al_arena *arena)
{
	const struct al_checkpoint *source = job->view->checkpoint;
	struct files files = {.n_shards = source->n_shards,
		.has_index = source->index != NULL,
		.has_config = job->view->has_config,
		.has_modeling = job->writes_modeling};

	files.folder = folder_of(arena, source->shards[0].source.path);
	files.names = al_new_array(arena, const char *, source->n_shards + 3 + N_COMPANIONS);
	for (size_t i = 0; i < source->n_shards; i++)
		files.names[files.n++] = shard_name(&source->shards[i]);
	if (files.has_index)
		files.names[files.n++] = base_name(source->index);
	if (files.has_config)
		files.names[files.n++] = config_name;
	if (files.has_modeling)
		files.names[files.n++] = modeling_name;
	list_companions(&files, source, arena);
	return files;
}

/* A path becomes a folder where it is one, ends in a slash, or where the original is a folder or
 * has an index and the path doesn't end as a file of safetensors does. */
static bool writes_folder(const struct al_job *job, const char *path)
{
	const struct al_checkpoint *source = job->view->checkpoint;
	const enum al_path_kind kind = al_path_kind(path);

	if (kind != AL_PATH_NONE)
		return kind == AL_PATH_FOLDER;
	return al_ends_with(path, "/") || source->of
		|| (!al_ends_with(path, ".safetensors")
			&& (source->index || al_path_kind(source->path) == AL_PATH_FOLDER));
}

static bool writes_gguf(const char *path)
{
	return al_ends_with(path, al_format_gguf.ending) && al_path_kind(path) != AL_PATH_FOLDER;
}

static bool open_folder(struct al_job *job, const char *path, struct files *files,
	struct al_output **out, struct al_error *err)
{
	*files = list_files(job, &job->arena);
	return al_output_open_folder(out, path, files->names, files->n, err);
}

static bool check_folder(struct al_job *job, const char *path, struct al_error *err)
{
	struct al_output *folder;
	struct files files;

	if (!open_folder(job, path, &files, &folder, err))
		return false;
	al_output_abandon(folder);
	return true;
}

/* ---- before the work ---- */

static bool is_same_file(const char *a, const char *b)
{
	struct stat first, second;

	return a && stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev
		&& first.st_ino == second.st_ino;
}

static bool check_file(const struct al_job *job, const char *path, struct al_error *err)
{
	const struct al_checkpoint *checkpoint = job->view->checkpoint;
	bool is_input = is_same_file(checkpoint->index, path)
		|| is_same_file(checkpoint->config, path);
	struct al_output *output;

	for (size_t i = 0; i < checkpoint->n_shards; i++)
		is_input = is_input || is_same_file(checkpoint->shards[i].source.path, path);
	if (is_input)
		return al_fail(err, AL_EINPUT, "%s: is a file of the input, expected another one",
			path);
	if (!al_output_open(&output, path, err))
		return false;
	al_output_abandon(output);
	return true;
}

/* Where the temporary file goes: next to the output, not into the folder that it names; for a
 * device into the system's folder for temporary files. */
static const char *temporary_path(struct al_job *job, const char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	return al_output_is_direct(path) ? P_tmpdir "/" : al_strndup(&job->arena, path, length);
}

/* All tensors go into a safetensors file, those as they are too. */
static bool check_formats(const struct al_checkpoint *checkpoint, const struct al_dtype *dtype,
	struct al_error *err)
{
	for (size_t i = 0; i < checkpoint->n_tensors; i++) {
		const struct al_tensor *tensor = &checkpoint->tensors[i];
		if (!tensor->dtype->stored && !dtype)
			return al_fail(err, AL_EINPUT,
				"tensor %s has dtype %s, which a safetensors file can't hold%s",
				tensor->name, al_dtype_title(tensor->dtype),
				checkpoint->shards[0].pairs ? "; use -o FILE.gguf" : "");
	}
	return true;
}

bool al_job_open_output(struct al_job *job, const char *path, struct al_error *err)
{
	job->writes_gguf = writes_gguf(path);
	job->writes_folder = !job->writes_gguf && writes_folder(job, path);
	const bool ok = job->writes_folder ? check_folder(job, path, err)
					   : check_file(job, path, err);

	return ok
		&& (job->writes_gguf ? al_job_check_gguf(job, path, err)
				     : check_formats(job->view->checkpoint, job->dtype, err))
		&& al_spill_open(&job->aside, temporary_path(job, path), err);
}

/* ---- after it ---- */

/* Ranks may be so large that there is nothing to gain. */
static bool check_gain(const struct al_plan *plan, struct al_error *err)
{
	const struct al_checkpoint *source = plan->job->view->checkpoint;
	const char *recoded = plan->job->recoded_note;
	uint64_t before = 0, after = 0;

	for (size_t i = 0; i < source->n_tensors; i++)
		before += source->tensors[i].bytes;
	for (size_t i = 0; i < plan->n; i++)
		after += plan->tensors[i].bytes;
	return after < before || !plan->job->options->must_gain
		|| (plan->job->n_modules > 0 && plan->job->modules[0].layout.is_padded)
		|| al_fail(err, AL_EINPUT,
			"the result would have %" PRIu64
			" bytes of tensors, the source has %" PRIu64
			": use smaller ranks, or --force%s%s%s",
			after, before, recoded ? " (" : "", recoded ? recoded : "",
			recoded ? ")" : "");
}

/* Asks the options' check about what was written. */
static bool approve(const struct al_job *job, const char *written, struct al_error *err)
{
	const struct al_compress_options *options = job->options;

	return al_checkpoint_check_unchanged(job->view->checkpoint, err)
		&& (!options->check || options->check(options->context, written, err));
}

static bool write_file(const struct al_plan *plan, const struct al_text *config, const char *path,
	struct al_error *err)
{
	struct al_tensor_writer *writer;
	const char *text = config->length > 0 ? config->data : NULL;

	if (!al_plan_write(plan, AL_ALL_SHARDS, text, path, &writer, err))
		return false;
	const char *written = al_tensor_writer_written(writer);
	if (approve(plan->job, written ? written : path, err))
		return al_tensor_writer_commit(writer, err);
	al_tensor_writer_abandon(writer);
	return false;
}

static bool copy_companion(const char *from, const char *to, struct al_error *err)
{
	AL_TEXT(text);

	return al_file_read(&text, from, MOST_COMPANION_BYTES, err)
		&& al_file_write(to, text.data, text.length, err);
}

static bool write_companion(struct al_job *job, const struct files *files, const char *name,
	const char *to, struct al_error *err)
{
	const char *beside = al_format(&job->arena, "%s%s", files->folder, name);
	const char *made = made_text(job->view->checkpoint, name);

	return made && !is_file(beside) ? al_file_write(to, made, strlen(made), err)
					: copy_companion(beside, to, err);
}

static bool write_files(const struct al_plan *plan, const struct al_text *config,
	const struct files *files, const struct al_output *folder, struct al_error *err)
{
	struct al_tensor_writer *writer;
	size_t next = files->n_shards;

	for (size_t i = 0; i < files->n_shards; i++)
		if (!al_plan_write(plan, i, NULL, al_output_file(folder, i), &writer, err)
			|| !al_tensor_writer_commit(writer, err))
			return false;
	if (files->has_index
		&& !al_index_write(al_output_file(folder, next++), plan->headers, plan->n,
			files->names, err))
		return false;
	if (files->has_config
		&& !al_file_write(al_output_file(folder, next++), config->data, config->length,
			err))
		return false;
	const struct al_embedded *modeling = &al_embedded_modeling.files[0];
	if (files->has_modeling
		&& !al_file_write(al_output_file(folder, next++), modeling->text, modeling->length,
			err))
		return false;
	for (; next < files->n; next++)
		if (!write_companion(plan->job, files, files->names[next],
			    al_output_file(folder, next), err))
			return false;
	return true;
}

static bool write_folder(const struct al_plan *plan, const struct al_text *config, const char *path,
	struct al_error *err)
{
	struct al_job *job = plan->job;
	struct al_output *folder;
	struct files files;

	if (!open_folder(job, path, &files, &folder, err))
		return false;
	if (write_files(plan, config, &files, folder, err)
		&& approve(job, al_output_written(folder), err))
		return al_output_commit(folder, err);
	al_output_abandon(folder);
	return false;
}

bool al_job_write(struct al_job *job, const char *path, struct al_error *err)
{
	struct al_plan plan;

	if (!al_checkpoint_hash(job->view->checkpoint, NULL, &job->source, err))
		return false;
	al_plan_make(&plan, job);
	if (!al_plan_weigh(&plan, err))
		return false;
	job->recoded_note = al_plan_describe_formats(&plan);
	if ((job->writes_gguf && !al_job_describe_gguf(job, &plan, err)) || !check_gain(&plan, err))
		return false;
	AL_TEXT(config);
	if (job->view->has_config && !job->writes_gguf
		&& !al_job_write_config(job, &plan, &config, err))
		return false;
	return (job->writes_folder ? write_folder : write_file)(&plan, &config, path, err);
}
