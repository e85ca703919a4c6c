/* Every state dict of llama.cpp's names, stored as a GGUF file whose metadata are its config: what
 * the list of tensors alone says is found out, and the family explains all tensors. */
#include "support/state_dict.h"
#include "with_catalog.h"

#include <glob.h>
#include <math.h>

#include "base/json.h"
#include "base/text.h"
#include "model/heads/reconcile.h"

enum type { TYPE_U32 = 4, TYPE_BOOL = 7, TYPE_TEXT = 8, TYPE_F64 = 12 };

/* What gguf_config.c makes of the list of tensors. */
static const char *const found_out[] = {"attention_bias", "rope_freqs", "ffn_norm", "attn_q_norm",
	"attention_kv_b", "tie_word_embeddings"};
enum { N_FOUND_OUT = sizeof(found_out) / sizeof(*found_out) };

static void put_u32(struct al_text *out, uint32_t number)
{
	al_text_add_bytes(out, (const char *)&number, sizeof(number));
}

static void put_u64(struct al_text *out, uint64_t number)
{
	al_text_add_bytes(out, (const char *)&number, sizeof(number));
}

static void put_text(struct al_text *out, const char *text)
{
	put_u64(out, strlen(text));
	al_text_add(out, text);
}

static void put_value(struct al_text *out, const struct al_json *doc, const struct al_item *node)
{
	struct al_error err;
	const char *text;
	double number = 0;
	bool flag = false;

	switch (al_json_kind(node)) {
	case AL_JSON_TEXT:
		put_u32(out, TYPE_TEXT);
		must(al_json_text(doc, node, &text, &err), &err);
		put_text(out, text);
		return;
	case AL_JSON_BOOLEAN:
		put_u32(out, TYPE_BOOL);
		must(al_json_boolean(doc, node, &flag, &err), &err);
		al_text_add_bytes(out, flag ? "\1" : "\0", 1);
		return;
	default:
		must(al_json_real(doc, node, &number, &err), &err);
		const bool is_whole = number >= 0 && number < 1e9
			&& !islessgreater((double)(uint32_t)number, number);
		put_u32(out, is_whole ? TYPE_U32 : TYPE_F64);
		if (is_whole)
			put_u32(out, (uint32_t)number);
		else
			al_text_add_bytes(out, (const char *)&number, sizeof(number));
	}
}

/* All keys but those that aren't in a file; returns how many. */
static uint64_t put_metadata(struct al_text *out, const struct al_json *doc)
{
	const struct al_item *type = al_json_get(doc->root, "model_type");
	struct al_error err;
	const char *name;
	uint64_t n = 1;
	char key[256];

	must(al_json_text(doc, type, &name, &err), &err);
	name += strlen("gguf_");
	put_text(out, "general.architecture");
	put_u32(out, TYPE_TEXT);
	put_text(out, name);
	al_json_each (member, doc->root) {
		if (member == type
			|| al_find_name(al_json_key(member), found_out, N_FOUND_OUT) >= 0)
			continue;
		snprintf(key, sizeof(key), "%s.%s", name, al_json_key(member));
		put_text(out, key);
		put_value(out, doc, member);
		n++;
	}
	return n;
}

static void put_tensors(struct al_text *out, const struct state_dict *dict, uint64_t *bytes)
{
	*bytes = 0;
	for (size_t i = 0; i < dict->n; i++) {
		const struct weight *weight = &dict->weights[i];
		put_text(out, weight->name);
		put_u32(out, (uint32_t)weight->n_dims);
		for (size_t d = weight->n_dims; d-- > 0;)
			put_u64(out, (uint64_t)weight->shape[d]);
		put_u32(out, 0);
		put_u64(out, *bytes);
		*bytes += (4 * weight_elements(weight) + 31) / 32 * 32;
	}
}

static void write_gguf(const struct state_dict *dict, const char *path)
{
	struct al_text head, metadata, tensors;
	struct al_json config;
	struct al_error err;
	uint64_t bytes;

	al_text_init(&head);
	al_text_init(&metadata);
	al_text_init(&tensors);
	must(al_json_parse(&config, "config", dict->config, strlen(dict->config), &err), &err);
	const uint64_t n = put_metadata(&metadata, &config);
	put_tensors(&tensors, dict, &bytes);
	al_text_add(&head, "GGUF");
	put_u32(&head, 3);
	put_u64(&head, dict->n);
	put_u64(&head, n);
	al_text_add_bytes(&head, metadata.data, metadata.length);
	al_text_add_bytes(&head, tensors.data, tensors.length);
	al_text_add_repeated(&head, '\0', (32 - head.length % 32) % 32 + bytes);
	test_write(path, head.data, head.length);
	al_json_finish(&config);
	al_text_finish(&tensors);
	al_text_finish(&metadata);
	al_text_finish(&head);
}

static void check(const char *name)
{
	const struct al_view_options options = {.runs = false};
	struct state_dict *dict = state_dict_read(name);
	struct al_reconciled *entries;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct test_folder folder;
	struct al_error err;
	char path[256];
	size_t n = 0;

	test_folder_make(&folder);
	write_gguf(dict, test_path(path, &folder, "model.gguf"));
	if (!al_checkpoint_open(&checkpoint, path, &err)
		|| !al_model_view_open(&view, catalog, &checkpoint, &options, &err)
		|| !al_reconcile(&view, &entries, &n, &err))
		fail_msg("%s: %s", name, err.message);
	for (size_t i = 0; i < n; i++)
		if (al_difference_is_fault(entries[i].difference))
			fail_msg("%s: %s: %s", name, entries[i].name,
				al_difference_names[entries[i].difference]);
	al_model_view_close(&view);
	al_checkpoint_close(&checkpoint);
	test_folder_remove(&folder);
	state_dict_finish(dict);
}

static void families_explain_files(void **state)
{
	static const char *const patterns[] = {STATE_DICTS "/gguf-*.txt",
		STATE_DICTS "/counted/gguf-*.txt"};
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		glob_t found;
		assert_int_equal(glob(patterns[i], 0, NULL, &found), 0);
		for (size_t j = 0; j < found.gl_pathc; j++, n++) {
			char *name = found.gl_pathv[j] + strlen(STATE_DICTS "/");
			name[strlen(name) - strlen(".txt")] = '\0';
			check(name);
		}
		globfree(&found);
	}
	assert_between(n, 15, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families_explain_files),
	};

	return cmocka_run_group_tests(tests, create_catalog, destroy_catalog);
}
