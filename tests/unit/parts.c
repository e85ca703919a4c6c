/* Parts of a model: attention alone, some of its layers, one shard. */
#include "unit.h"

#include <string.h>

#include "support/folder.h"
#include "support/weights.h"
#include "model/heads/views.h"

enum { D = 8, HEADS = 2 };

#define MATRIX(name) \
	{ \
		name, "F32", {D, D}, 2, NULL \
	}
#define LLAMA(n, name) MATRIX("model.layers." #n ".self_attn." name ".weight")
#define META(n, name) MATRIX("layers." #n ".attention." name ".weight")

/* Of layer 7 the queries alone. */
static const struct weight shard[] = {LLAMA(5, "q_proj"), LLAMA(5, "k_proj"), LLAMA(5, "v_proj"),
	LLAMA(5, "o_proj"), LLAMA(6, "q_proj"), LLAMA(6, "k_proj"), LLAMA(6, "v_proj"),
	LLAMA(6, "o_proj"), LLAMA(7, "q_proj")};

/* A family whose config.json has to say the vocabulary. */
static const struct weight attention[] = {META(5, "wq"), META(5, "wk"), META(5, "wv"),
	META(5, "wo"), META(6, "wq"), META(6, "wk"), META(6, "wv"), META(6, "wo")};

static const char config[] =
	"{\"model_type\": \"llama\", \"hidden_size\": 8, \"num_attention_heads\": 2, "
	"\"num_hidden_layers\": 10, \"intermediate_size\": 16, \"vocab_size\": 11}";

struct part {
	struct test_folder folder;
	struct al_catalog *catalog;
	struct al_checkpoint checkpoint;
	struct al_model_view view;
};

static void open_part(struct part *p, const struct weight *weights, size_t n_weights,
	bool has_config)
{
	const struct al_view_options options = {.n_heads = HEADS};
	struct al_error err = {0};
	char path[256];

	test_folder_make(&p->folder);
	write_weights(test_path(path, &p->folder, "model.safetensors"), weights, n_weights);
	if (has_config)
		test_write(test_path(path, &p->folder, "config.json"), config, strlen(config));
	p->catalog = al_catalog_create();
	if (!al_checkpoint_open(&p->checkpoint, p->folder.path, &err)
		|| !al_model_view_open(&p->view, p->catalog, &p->checkpoint, &options, &err))
		fail_msg("%s", err.message);
}

static void close_part(struct part *p)
{
	al_model_view_close(&p->view);
	al_checkpoint_close(&p->checkpoint);
	al_catalog_destroy(p->catalog);
	test_folder_remove(&p->folder);
}

static void assert_note(const struct al_model_view *view, const char *note)
{
	for (size_t i = 0; i < view->n_notes; i++)
		if (strcmp(view->notes[i], note) == 0)
			return;
	fail_msg("no note \"%s\"; the first: %s", note, view->n_notes ? view->notes[0] : "none");
}

static void assert_layers(const struct al_model_view *view)
{
	assert_int_equal(view->n_modules, 2);
	assert_string_equal(view->modules[0].name, "layers.5");
	assert_string_equal(view->modules[1].name, "layers.6");
	assert_int_equal(view->modules[1].layer, 6);
	assert_int_equal(view->modules[1].n_heads, HEADS);
	assert_int_equal(view->modules[1].d_head, D / HEADS);
}

/* No embedding, no feed-forward, no config: what attention doesn't need stays unknown. */
static void attention_is_enough(void **state)
{
	const struct al_setting *vocab;
	struct part p;

	(void)state;
	open_part(&p, attention, sizeof(attention) / sizeof(*attention), false);
	assert_layers(&p.view);
	assert_true(al_settings_get(&p.view.settings, "vocab", &vocab, NULL));
	assert_null(vocab);
	assert_note(&p.view,
		"5 modules are left out, from layers.0 to layers.4: none of their tensors is "
		"stored here");
	close_part(&p);
}

static void one_shard_is_enough(void **state)
{
	struct part p;

	(void)state;
	open_part(&p, shard, sizeof(shard) / sizeof(*shard), true);
	assert_layers(&p.view);
	assert_note(&p.view,
		"7 modules are left out, from layers.0 to layers.9: none of their tensors is "
		"stored here");
	assert_note(&p.view, "layers.7 is left out: only a part of it is stored here");
	close_part(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attention_is_enough),
		cmocka_unit_test(one_shard_is_enough),
	};

	return cmocka_run_group_tests_name("parts of a model", tests, NULL, NULL);
}
