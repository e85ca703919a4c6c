/* Manifests, read and compared. */
#include "fragment/manifest.h"

#include <inttypes.h>
#include <string.h>

#include "base/fingerprint.h"
#include "base/number.h"
#include "base/record.h"

/* ---- names ---- */

static const char FIRST[] = "shard-", BETWEEN[] = "-of-", ENDING[] = ".json";

const char *al_manifest_name(struct al_arena *arena, int64_t shard, int64_t n_shards)
{
	return al_format(arena, "%s%" PRId64 "%s%" PRId64, FIRST, shard, BETWEEN, n_shards);
}

bool al_manifest_is_name(const char *name)
{
	int64_t number;

	if (strncmp(name, FIRST, strlen(FIRST)) != 0)
		return false;
	name += strlen(FIRST);
	name += al_read_digits(name, &number);
	if (strncmp(name, BETWEEN, strlen(BETWEEN)) != 0)
		return false;
	name += strlen(BETWEEN);
	name += al_read_digits(name, &number);
	return strcmp(name, ENDING) == 0;
}

/* FOLDER/shard-I-of-N */
static const char *stem(const struct al_manifest *m, struct al_arena *arena)
{
	const char *slash = strrchr(m->path, '/');
	const size_t n = slash ? (size_t)(slash - m->path) + 1 : 0;

	return al_format(arena, "%s%s", al_strndup(arena, m->path, n),
		al_manifest_name(arena, m->shard, m->n_shards));
}

const char *al_manifest_rows_path(const struct al_manifest *m,
	const struct al_fragment_module *module, struct al_arena *arena)
{
	return al_format(arena, "%s.%" PRId64 "%s", stem(m, arena), module->place, ENDING);
}

const char *al_manifest_matrix_path(const struct al_manifest *m, const char *matrix,
	struct al_arena *arena)
{
	return al_format(arena, "%s.%s", stem(m, arena), matrix);
}

/* ---- reading ---- */

static bool read_fingerprint(void *context, const struct cJSON *node, void *out,
	struct al_error *err)
{
	const struct al_record_source *source = context;
	const char *text;

	return al_json_text(source->doc, node, &text, err)
		&& (al_fingerprint_read(text, out)
			|| al_json_fail(source->doc, node, err,
				"found \"%.40s\", expected a fingerprint", text));
}

static bool read_text(void *context, const struct cJSON *node, void *out, struct al_error *err)
{
	const struct al_record_source *source = context;
	const char *text;

	if (!al_json_text(source->doc, node, &text, err))
		return false;
	*(const char **)out = al_strdup(source->arena, text);
	return true;
}

static bool read_format(void *context, const struct cJSON *node, void *out, struct al_error *err)
{
	const struct al_record_source *source = context;
	int64_t format;

	(void)out;
	return al_json_whole(source->doc, node, &format, err)
		&& (format == AL_FRAGMENT_FORMAT
			|| al_json_fail(source->doc, node, err,
				"format %" PRId64 " of fragments, this program reads format %d",
				format, AL_FRAGMENT_FORMAT));
}

static const struct al_field input_fields[] = {
	{AL_KEY("name", TEXT, offsetof(struct al_fragment_input, name)), .is_required = true},
	{AL_KEY("fingerprint", BY, offsetof(struct al_fragment_input, fingerprint)),
		.is_required = true, .read = read_fingerprint},
};

static const struct al_record input_record = {
	.fields = AL_FIELDS(input_fields),
	.size = sizeof(struct al_fragment_input),
};

static bool check_module(void *context, const struct cJSON *object, void *record,
	struct al_error *err)
{
	const struct al_record_source *source = context;
	const struct al_fragment_module *module = record;
	const bool has_rows = al_json_get(object, "fingerprint") != NULL;

	return has_rows == !module->left_out
		|| al_json_fail(source->doc, object, err,
			"expected one of \"fingerprint\" and \"left_out\"");
}

static const struct al_field module_fields[] = {
	{AL_KEY("name", TEXT, offsetof(struct al_fragment_module, name)), .is_required = true},
	{AL_KEY("place", WHOLE, offsetof(struct al_fragment_module, place)), .is_required = true},
	{AL_KEY("left_out", TEXT, offsetof(struct al_fragment_module, left_out))},
	{AL_KEY("fingerprint", BY, offsetof(struct al_fragment_module, fingerprint)),
		.read = read_fingerprint},
};

static const struct al_record module_record = {
	.fields = AL_FIELDS(module_fields),
	.size = sizeof(struct al_fragment_module),
	.check = check_module,
};

static const struct al_field count_fields[] = {
	{AL_KEY("tensor", TEXT, offsetof(struct al_fragment_count, tensor)), .is_required = true},
	{AL_KEY("count", WHOLE, offsetof(struct al_fragment_count, n)), .is_required = true,
		.least = 1},
};

static const struct al_record count_record = {
	.fields = AL_FIELDS(count_fields),
	.size = sizeof(struct al_fragment_count),
};

#define AT(member) offsetof(struct al_manifest, member)

static const struct al_field fields[] = {
	{AL_KEY("format", BY, 0), .is_required = true, .read = read_format},
	{AL_KEY("attnledger", TEXT, AT(version)), .is_required = true},
	{AL_KEY("shard", WHOLE, AT(shard)), .is_required = true, .least = 1},
	{AL_KEY("of", WHOLE, AT(n_shards)), .is_required = true, .least = 1},
	{AL_KEY("checkpoint", TEXT, AT(checkpoint)), .is_required = true},
	{AL_KEY("config", TEXT, AT(config))},
	{AL_KEY("source", BY, AT(source)), .is_required = true, .read = read_fingerprint},
	{AL_KEY("header", BY, AT(header)), .is_required = true, .read = read_fingerprint},
	{AL_KEY("options", LIST, AT(options)), .is_required = true, .read = read_text,
		.item_size = sizeof(const char *), .n_offset = AT(n_options)},
	{AL_KEY("tables", BOOLEAN, AT(has_tables)), .is_required = true},
	{AL_KEY("figures", BOOLEAN, AT(has_figures)), .is_required = true},
	{AL_KEY("report", BOOLEAN, AT(has_report))},
	{AL_KEY("inputs", LIST, AT(inputs)), .is_required = true, .record = &input_record,
		.n_offset = AT(n_inputs)},
	{AL_KEY("kernel", TEXT, AT(kernel)), .is_required = true},
	{AL_KEY("kernel_note", TEXT, AT(kernel_note))},
	{AL_KEY("modules", LIST, AT(modules)), .is_required = true, .record = &module_record,
		.n_offset = AT(n_modules)},
	{AL_KEY("not_finite", LIST, AT(not_finite)), .is_required = true, .record = &count_record,
		.n_offset = AT(n_not_finite)},
};

static bool check_shard(void *context, const struct cJSON *object, void *record,
	struct al_error *err)
{
	const struct al_record_source *source = context;
	const struct al_manifest *m = record;

	if (m->n_shards > AL_MOST_SHARDS)
		return al_json_fail(source->doc, al_json_get(object, "of"), err,
			"found %" PRId64 " shards, expected at most %d", m->n_shards,
			AL_MOST_SHARDS);
	return m->shard <= m->n_shards
		|| al_json_fail(source->doc, al_json_get(object, "shard"), err,
			"found shard %" PRId64 " of %" PRId64, m->shard, m->n_shards);
}

static const struct al_record record = {
	.fields = AL_FIELDS(fields),
	.size = sizeof(struct al_manifest),
	.check = check_shard,
};

bool al_manifest_parse(struct al_manifest *manifest, struct al_arena *arena, const char *name,
	const char *text, size_t length, struct al_error *err)
{
	struct al_json doc;
	struct al_record_source source = {.arena = arena, .doc = &doc, .context = &source};

	*manifest = (struct al_manifest){.path = al_strdup(arena, name)};
	if (!al_json_parse(&doc, name, text, length, err))
		return false;
	bool ok = al_json_expect(&doc, doc.root, AL_JSON_OBJECT, err)
		&& al_record_read(&source, &record, doc.root, manifest, err);
	al_json_finish(&doc);
	return ok;
}

/* ---- comparing ---- */

/* Of an option, "--seed" of "--seed=2". */
static size_t name_length(const char *option)
{
	return strcspn(option, "=");
}

/* The option of the same name; NULL: there is none. */
static const char *find_option(const struct al_manifest *m, const char *like)
{
	const size_t n = name_length(like);

	for (size_t i = 0; i < m->n_options; i++)
		if (name_length(m->options[i]) == n && strncmp(m->options[i], like, n) == 0)
			return m->options[i];
	return NULL;
}

/* Every option of `m` stands in `other` too. */
static bool check_options(const struct al_manifest *m, const struct al_manifest *other,
	struct al_error *err)
{
	for (size_t i = 0; i < m->n_options; i++) {
		const char *here = m->options[i];
		const char *there = find_option(other, here);
		if (al_find_name(here, other->options, other->n_options) >= 0)
			continue;
		return al_fail(err, AL_EINPUT, "%s was measured with %s, %s %s%s", m->path, here,
			other->path, there ? "with " : "without", there ? there : "");
	}
	return true;
}

static bool check_inputs(const struct al_manifest *m, const struct al_manifest *other,
	struct al_error *err)
{
	for (size_t i = 0; i < m->n_inputs || i < other->n_inputs; i++)
		if (i >= m->n_inputs || i >= other->n_inputs
			|| strcmp(m->inputs[i].name, other->inputs[i].name) != 0
			|| m->inputs[i].fingerprint != other->inputs[i].fingerprint)
			return al_fail(err, AL_EINPUT, "%s is of another %s than %s", m->path,
				i < m->n_inputs ? m->inputs[i].name : other->inputs[i].name,
				other->path);
	return true;
}

bool al_manifest_check_same(const struct al_manifest *m, const struct al_manifest *other,
	struct al_error *err)
{
	if (strcmp(m->version, other->version) != 0)
		return al_fail(err, AL_EINPUT, "%s: of attnledger %s, %s of %s", m->path,
			m->version, other->path, other->version);
	if (m->n_shards != other->n_shards)
		return al_fail(err, AL_EINPUT,
			"%s is one of %" PRId64 " shards, %s one of %" PRId64, m->path, m->n_shards,
			other->path, other->n_shards);
	if (m->source != other->source || m->header != other->header)
		return al_fail(err, AL_EINPUT,
			"%s is of the checkpoint %s (fnv1a %016" PRIx64
			"), %s of another, %s (fnv1a %016" PRIx64 ")",
			m->path, m->checkpoint, m->source, other->path, other->checkpoint,
			other->source);
	const char *only_one = m->has_tables != other->has_tables ? "tables"
		: m->has_figures != other->has_figures		  ? "figures"
		: m->has_report != other->has_report		  ? "report"
								  : NULL;
	if (only_one)
		return al_fail(err, AL_EINPUT, "%s and %s: only one was measured with --%s",
			m->path, other->path, only_one);
	return check_options(m, other, err) && check_options(other, m, err)
		&& check_inputs(m, other, err);
}
