/* Writing the compressed checkpoint: a folder with the original's shards under their names, each
 * tensor in the shard where its original is, their index, a config.json, and what
 * stands beside it to read and write text.
 *
 * The files are known before the first byte is written, and come one after the other. */
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/output.h"
#include "base/text.h"
#include "formats/index.h"
#include "compress/write.h"

static const char config_name[] = "config.json";

/* What programs read beside a model's weights and config: copied as they are. */
static const char *const companions[] = {"tokenizer.json", "tokenizer_config.json",
	"special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt", "vocab.txt",
	"tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tokenizer.bin",
	"chat_template.jinja", "chat_template.json", "generation_config.json"};
enum { N_COMPANIONS = sizeof(companions) / sizeof(*companions) };

/* Larger ones are something else. */
enum { MOST_COMPANION_BYTES = 256 << 20 };

/* ---- which files ---- */

struct files {
	const char **names; /* the shards', in their order; the index's; the config's; others */
	const char *folder; /* the original's, with its slash */
	size_t n, n_shards;
	bool has_index, has_config;
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
	struct stat info;

	return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static void list_companions(struct files *files, struct al_arena *arena)
{
	for (size_t i = 0; i < N_COMPANIONS; i++)
		if (is_file(al_format(arena, "%s%s", files->folder, companions[i])))
			files->names[files->n++] = companions[i];
}

static struct files list_files(const struct al_job *job, struct al_arena *arena)
{
	const struct al_checkpoint *source = job->view->checkpoint;
	struct files files = {.n_shards = source->n_shards,
		.has_index = source->index != NULL,
		.has_config = job->view->has_config};

	files.folder = folder_of(arena, source->shards[0].source.path);
	files.names = al_new_array(arena, const char *, source->n_shards + 2 + N_COMPANIONS);
	for (size_t i = 0; i < source->n_shards; i++)
		files.names[files.n++] = shard_name(&source->shards[i]);
	if (files.has_index)
		files.names[files.n++] = base_name(source->index);
	if (files.has_config)
		files.names[files.n++] = config_name;
	list_companions(&files, arena);
	return files;
}

bool al_job_writes_folder(const struct al_job *job, const char *path)
{
	struct stat info;

	if (stat(path, &info) == 0)
		return S_ISDIR(info.st_mode);
	return al_ends_with(path, "/")
		|| (job->view->checkpoint->index && !al_ends_with(path, ".safetensors"));
}

static bool open_folder(const struct al_job *job, const char *path, struct files *files,
	struct al_arena *arena, struct al_output **out, struct al_error *err)
{
	*files = list_files(job, arena);
	return al_output_open_folder(out, path, files->names, files->n, err);
}

bool al_job_check_folder(const struct al_job *job, const char *path, struct al_error *err)
{
	struct al_arena arena;
	struct al_output *folder;
	struct files files;

	al_arena_init(&arena);
	const bool ok = open_folder(job, path, &files, &arena, &folder, err);
	if (ok)
		al_output_abandon(folder);
	al_arena_finish(&arena);
	return ok;
}

/* ---- writing them ---- */

/* Tensors of a plan stand in the order of their shards. */
static struct al_plan_part part_of(const struct al_plan *plan, size_t shard)
{
	struct al_plan_part part = {0};

	while (part.first < plan->n && plan->headers[part.first].shard < shard)
		part.first++;
	while (part.first + part.n < plan->n && plan->headers[part.first + part.n].shard == shard)
		part.n++;
	return part;
}

static bool write_shard(struct al_job *job, const struct al_plan *plan, uint64_t source,
	size_t shard, const char *path, struct al_error *err)
{
	struct al_safetensors_writer *writer;
	size_t n;
	const struct al_metadata *metadata = al_job_metadata(job, source, shard, NULL, &n);

	return al_plan_write(plan, part_of(plan, shard), metadata, n, path, &writer, err)
		&& al_safetensors_commit(writer, err);
}

static bool copy_companion(const char *from, const char *to, struct al_error *err)
{
	struct al_text text;

	if (!al_file_read(&text, from, MOST_COMPANION_BYTES, err))
		return false;
	const bool ok = al_file_write(to, text.data, text.length, err);
	al_text_finish(&text);
	return ok;
}

static bool write_files(struct al_job *job, const struct al_plan *plan, uint64_t source,
	const struct al_text *config, const struct files *files, const struct al_output *folder,
	struct al_error *err)
{
	size_t next = files->n_shards;

	for (size_t i = 0; i < files->n_shards; i++)
		if (!write_shard(job, plan, source, i, al_output_file(folder, i), err))
			return false;
	if (files->has_index
		&& !al_index_write(al_output_file(folder, next++), plan->headers, plan->n,
			files->names, err))
		return false;
	if (files->has_config
		&& !al_file_write(al_output_file(folder, next++), config->data, config->length,
			err))
		return false;
	for (; next < files->n; next++)
		if (!copy_companion(al_format(&job->arena, "%s%s", files->folder,
					    files->names[next]),
			    al_output_file(folder, next), err))
			return false;
	return true;
}

bool al_job_write_folder(struct al_job *job, const struct al_plan *plan, uint64_t source,
	const struct al_text *config, const char *path, struct al_error *err)
{
	struct al_output *folder;
	struct files files;

	if (!open_folder(job, path, &files, &job->arena, &folder, err))
		return false;
	if (write_files(job, plan, source, config, &files, folder, err)
		&& al_job_approve(job, al_output_written(folder), err))
		return al_output_commit(folder, err);
	al_output_abandon(folder);
	return false;
}
