/* What a compressed file records of itself. */
#include "compress/job.h"

#include "base/record.h"

struct reading {
	struct al_job *job;
	enum al_method method; /* of a module that names none */
	struct al_json record;
};

static bool find_method(const char *name, enum al_method *out, struct al_error *err)
{
	const int found = al_find_name(name, al_method_names, AL_N_METHODS);

	*out = found < 0 ? AL_METHOD_IDENTITY : (enum al_method)found;
	return found >= 0 || al_fail_unknown(err, "method", name, al_method_names, AL_N_METHODS);
}

static bool read_record(struct reading *v, struct al_error *err)
{
	const struct al_checkpoint *compressed = v->job->compressed;
	const char *method = al_checkpoint_metadata(compressed, "attnledger.method");
	const char *modules = al_checkpoint_metadata(compressed, "attnledger.modules");
	struct al_compress_options *options = al_new(&v->job->arena, struct al_compress_options);

	if (!method || !modules)
		return al_fail(err, AL_EINPUT,
			"%s: no attnledger.%s in its metadata; was it compressed by attnledger?",
			compressed->path, method ? "modules" : "method");
	if (!find_method(method, &options->method, err))
		return false;
	v->method = options->method;
	v->job->options = options;
	v->job->is_weighted = al_checkpoint_metadata(compressed, "attnledger.weighted") != NULL;
	v->job->writes_gguf = compressed->shards[0].pairs != NULL;
	const char *dtype = al_checkpoint_metadata(compressed, AL_RECORD_DTYPE);
	v->job->has_formats = dtype && strcmp(dtype, AL_DTYPE_BY_TENSOR) == 0;
	if (dtype && !v->job->has_formats && !al_dtype_find(dtype, &v->job->dtype, err))
		return al_in(err, "%s: attnledger.dtype", compressed->path);
	return al_json_parse(&v->record, "attnledger.modules", modules, strlen(modules), err)
		&& al_json_expect(&v->record, v->record.root, AL_JSON_ARRAY, err);
}

/* One of attnledger.modules. */
struct recorded {
	const char *module, *method; /* method NULL: the file's */
	int64_t rank; /* 0: not given */
	int64_t *dropped; /* heads */
	size_t n_dropped;
	int64_t *places; /* of key/value heads */
	size_t n_places;
	bool is_refitted, of_keys, is_padded;
	double scale;
	int64_t parameters; /* for readers of the file, like the error */
	double relative_error;
};

static bool read_head(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	return al_json_whole_from(context, node, 0, out, err);
}

#define AT(member) offsetof(struct recorded, member)
static const struct al_field recorded_fields[] = {
	{AL_KEY("module", TEXT, AT(module)), .is_required = true},
	{AL_KEY("method", TEXT, AT(method))},
	{AL_KEY("rank", WHOLE, AT(rank)), .least = 1},
	{AL_KEY("dropped", LIST, AT(dropped)), .n_offset = AT(n_dropped), .read = read_head,
		.item_size = sizeof(int64_t)},
	{AL_KEY("places", LIST, AT(places)), .n_offset = AT(n_places), .read = read_head,
		.item_size = sizeof(int64_t)},
	{AL_KEY("refitted", BOOLEAN, AT(is_refitted))},
	{AL_KEY("of_keys", BOOLEAN, AT(of_keys))},
	{AL_KEY("padded", BOOLEAN, AT(is_padded))},
	{AL_KEY("scale", REAL, AT(scale)), .is_required = true},
	{AL_KEY("parameters", WHOLE, AT(parameters))},
	{AL_KEY("relative_error", REAL, AT(relative_error))},
};
#undef AT
static const struct al_record recorded_module = {.fields = AL_FIELDS(recorded_fields)};

/* Which of the original's heads are gone; NULL where the method leaves out none. */
static bool mark_dropped(struct reading *v, const struct al_item *node,
	const struct recorded *recorded, enum al_method method, const struct al_attention *a,
	bool **out, struct al_error *err)
{
	*out = NULL;
	if (!al_method_drops(method))
		return true;
	if (!al_json_get(node, "dropped"))
		return al_json_fail(&v->record, node, err, "key \"dropped\" is missing");
	*out = al_new_array(&v->job->arena, bool, (size_t)a->n_heads);
	for (size_t i = 0; i < recorded->n_dropped; i++) {
		if (recorded->dropped[i] >= a->n_heads)
			return al_json_fail(&v->record, node, err, "%s has no head %" PRId64,
				a->name, recorded->dropped[i]);
		(*out)[recorded->dropped[i]] = true;
	}
	return true;
}

/* Every key/value head's place, each of which is one head's; NULL where there is no list. */
static bool read_places(struct reading *v, const struct al_item *node,
	const struct recorded *recorded, enum al_method method, const struct al_attention *a,
	const size_t **out, struct al_error *err)
{
	const size_t n = (size_t)a->n_kv_heads;
	bool *is_taken = al_new_array(&v->job->arena, bool, n);
	size_t *places = al_new_array(&v->job->arena, size_t, n);
	bool ok = recorded->n_places == n && method == AL_METHOD_GQA;

	*out = NULL;
	if (!al_json_get(node, "places"))
		return true;
	for (size_t i = 0; ok && i < n; i++) {
		ok = recorded->places[i] < a->n_kv_heads && !is_taken[recorded->places[i]];
		if (ok)
			is_taken[places[i] = (size_t)recorded->places[i]] = true;
	}
	*out = places;
	return ok
		|| al_json_fail(&v->record, node, err,
			"key \"places\": expected 0 to %zu of method gqa, each once", n - 1);
}

static bool check_rank(const struct reading *v, const struct al_item *node, int64_t rank,
	enum al_method method, const struct al_attention *a, struct al_error *err)
{
	if (al_method_drops(method))
		return true;
	if (rank == 0)
		return al_json_fail(&v->record, node, err, "key \"rank\" is missing");
	return rank <= al_method_bound(a, method)
		|| al_json_fail(&v->record, node, err, "rank %" PRId64 ", expected 1 to %" PRId64,
			rank, al_method_bound(a, method));
}

static bool read_layout(struct reading *v, const struct al_item *node, struct al_job_module *module,
	struct al_error *err)
{
	const struct al_record_source source = {&v->job->arena, &v->record, &v->record};
	const struct al_model_view *view = v->job->view;
	struct recorded recorded = {0};
	enum al_method method = v->method;
	const size_t *places;
	bool *is_dropped;

	if (!al_json_expect(&v->record, node, AL_JSON_OBJECT, err)
		|| !al_record_read(&source, &recorded_module, node, &recorded, err)
		|| (recorded.method && !find_method(recorded.method, &method, err)))
		return false;
	module->scale = recorded.scale;
	const struct al_attention *a = AL_FIND(view->modules, view->n_modules, recorded.module);
	if (!a)
		return al_json_fail(&v->record, node, err, "the original has no module \"%s\"",
			recorded.module);
	if (!mark_dropped(v, node, &recorded, method, a, &is_dropped, err)
		|| !read_places(v, node, &recorded, method, a, &places, err)
		|| !check_rank(v, node, recorded.rank, method, a, err))
		return false;
	return al_layout_make(&module->layout, &v->job->arena, view->checkpoint,
		&(struct al_module_layout){.attention = a,
			.method = method,
			.rank = recorded.rank,
			.is_dropped = is_dropped,
			.is_refitted = recorded.is_refitted,
			.of_keys = recorded.of_keys,
			.is_padded = recorded.is_padded,
			.places = places},
		err);
}

static bool read_modules(struct reading *v, struct al_error *err)
{
	if (v->method == AL_METHOD_IDENTITY && al_json_size(v->record.root) > 0)
		return al_json_fail(&v->record, v->record.root, err,
			"method identity, expected no modules");
	v->job->modules = al_new_array(&v->job->arena, struct al_job_module,
		al_json_size(v->record.root) + 1);
	al_json_each (node, v->record.root)
		if (!read_layout(v, node, &v->job->modules[v->job->n_modules++], err))
			return false;
	return true;
}

bool al_job_read(struct al_job *job, struct al_model_view *view,
	const struct al_checkpoint *compressed, struct al_error *err)
{
	struct reading v = {.job = job};

	*job = (struct al_job){.view = view, .compressed = compressed};
	al_arena_init(&job->arena);
	const bool ok = read_record(&v, err) && read_modules(&v, err);
	al_json_finish(&v.record);
	if (!ok)
		al_job_finish(job);
	return ok;
}
