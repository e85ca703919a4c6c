/* Reconciling: every state dict agrees with its family, and every kind of difference is told. */
#include "unit.h"

#include <dirent.h>

#include "support/state_dict.h"
#include "model/heads/reconcile.h"

static struct test_folder folder;
static struct al_catalog *catalog;

static int begin(void **state)
{
	(void)state;
	test_folder_make(&folder);
	catalog = al_catalog_create();
	return 0;
}

static int end(void **state)
{
	(void)state;
	al_catalog_destroy(catalog);
	test_folder_remove(&folder);
	return 0;
}

struct answer {
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_reconciled *entries;
	size_t n;
};

static void reconcile(const char *name, struct state_dict *dict, struct answer *answer)
{
	struct al_error err = {0};

	state_dict_write(dict, &folder, true);
	if (!al_checkpoint_open(&answer->checkpoint, folder.path, &err)
		|| !al_model_view_lay(&answer->view, catalog, &answer->checkpoint,
			&(struct al_view_options){0}, &err)
		|| !al_reconcile(&answer->view, &answer->entries, &answer->n, &err))
		fail_msg("%s: %s", name, err.message);
}

static void finish(struct answer *answer)
{
	al_model_view_close(&answer->view);
	al_checkpoint_close(&answer->checkpoint);
}

/* ---- agreement ---- */

static void check_agreement(const char *name)
{
	struct state_dict *dict = state_dict_read(name);
	struct answer answer;
	size_t n_found = 0;

	reconcile(name, dict, &answer);
	for (size_t i = 0; i < answer.n; i++) {
		const struct al_reconciled *entry = &answer.entries[i];
		if (al_difference_is_fault(entry->difference))
			fail_msg("%s: %s is %s", name, entry->name,
				al_difference_names[entry->difference]);
		n_found += entry->found != NULL;
		if (entry->found && entry->n_expected_parameters != entry->n_found_parameters)
			fail_msg("%s: %s: parameters differ", name, entry->name);
	}
	assert_int_equal(n_found, dict->n);
	finish(&answer);
	state_dict_finish(dict);
}

static void state_dicts_agree(void **state)
{
	DIR *stream = opendir(STATE_DICTS);

	(void)state;
	assert_non_null(stream);
	for (const struct dirent *entry; (entry = readdir(stream));) {
		char name[256];
		const char *ending = strstr(entry->d_name, ".txt");
		if (!ending)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(ending - entry->d_name), entry->d_name);
		check_agreement(name);
	}
	closedir(stream);
}

/* What checkpoints of 2019 and before call norms, and the buffers of 2020's GPT-2. */
static void old_names_are_known(void **state)
{
	struct state_dict *bert = state_dict_read("bert"), *gpt2 = state_dict_read("gpt2");
	struct answer answer;
	size_t n_renamed = 0;

	(void)state;
	for (size_t i = 0; i < bert->n; i++) {
		char *name = strdup(bert->weights[i].name), *end = strstr(name, "LayerNorm.");
		if (end) {
			strcpy(end,
				strcmp(end, "LayerNorm.bias") == 0 ? "LayerNorm.beta"
								   : "LayerNorm.gamma");
			n_renamed++;
		}
		bert->weights[i].name = name;
	}
	assert_true(n_renamed > 4);
	reconcile("bert", bert, &answer);
	for (size_t i = 0; i < answer.n; i++)
		if (al_difference_is_fault(answer.entries[i].difference))
			fail_msg("%s", answer.entries[i].name);
	finish(&answer);
	for (size_t i = 0; i < bert->n; i++)
		free((char *)(uintptr_t)bert->weights[i].name);
	state_dict_finish(bert);

	gpt2->weights[gpt2->n++] = (struct weight){.name = "transformer.h.1.attn.masked_bias",
		.dtype = "F32"};
	reconcile("gpt2", gpt2, &answer);
	bool is_found = false;
	for (size_t i = 0; i < answer.n; i++) {
		const struct al_reconciled *entry = &answer.entries[i];
		if (al_difference_is_fault(entry->difference))
			fail_msg("%s is %s", entry->name, al_difference_names[entry->difference]);
		is_found |= strcmp(entry->name, "transformer.h.1.attn.masked_bias") == 0
			&& entry->difference == AL_DIFFERENCE_BUFFER;
	}
	assert_true(is_found);
	finish(&answer);
	state_dict_finish(gpt2);
}

/* ---- differences ---- */

static const struct al_reconciled *find_entry(const struct answer *answer, const char *name)
{
	for (size_t i = 0; i < answer->n; i++)
		if (strcmp(answer->entries[i].name, name) == 0)
			return &answer->entries[i];
	fail_msg("no entry %s", name);
	return NULL;
}

static void differences_are_told(void **state)
{
	struct state_dict *dict = state_dict_read("llama");
	struct answer answer;
	const struct al_reconciled *entry;

	(void)state;
	state_dict_remove(dict, "model.layers.1.self_attn.v_proj.weight");
	state_dict_remove(dict, "model.norm.weight");
	state_dict_find(dict, "model.layers.2.self_attn.q_proj.weight")->shape[0] = 20;
	state_dict_find(dict, "model.embed_tokens.weight")->n_dims = 1;
	dict->weights[dict->n++] = (struct weight){.name = "model.layers.7.extra",
		.dtype = "F16",
		.shape = {3, 2},
		.n_dims = 2};
	dict->weights[dict->n++] =
		(struct weight){.name = "model.layers.0.self_attn.rotary_emb.inv_freq",
			.dtype = "F32",
			.shape = {2},
			.n_dims = 1};
	reconcile("llama", dict, &answer);

	entry = find_entry(&answer, "model.layers.1.self_attn.v_proj.weight");
	assert_int_equal(entry->difference, AL_DIFFERENCE_MISSING);
	assert_int_equal(entry->n_expected_parameters, 8 * 12);
	assert_int_equal(entry->n_found_parameters, 0);
	assert_string_equal(entry->part, "attention");
	assert_int_equal(find_entry(&answer, "model.norm.weight")->difference,
		AL_DIFFERENCE_MISSING);
	entry = find_entry(&answer, "model.layers.2.self_attn.q_proj.weight");
	assert_int_equal(entry->difference, AL_DIFFERENCE_SHAPE);
	assert_int_equal(entry->n_expected_parameters, 24 * 12);
	assert_int_equal(entry->n_found_parameters, 20 * 12);
	assert_int_equal(find_entry(&answer, "model.embed_tokens.weight")->difference,
		AL_DIFFERENCE_SHAPE);
	entry = find_entry(&answer, "model.layers.7.extra");
	assert_int_equal(entry->difference, AL_DIFFERENCE_UNEXPECTED);
	assert_null(entry->expected);
	assert_int_equal(entry->n_found_parameters, 6);
	entry = find_entry(&answer, "model.layers.0.self_attn.rotary_emb.inv_freq");
	assert_int_equal(entry->difference, AL_DIFFERENCE_BUFFER);
	assert_int_equal(entry->n_found_parameters, 0);
	assert_int_equal(find_entry(&answer, "model.layers.1.self_attn.rotary_emb.inv_freq")
				 ->difference,
		AL_DIFFERENCE_ABSENT);
	finish(&answer);
	state_dict_finish(dict);
}

/* A tied head may be stored or not; it has no parameters of its own. */
static void tied_tensors_count_once(void **state)
{
	struct state_dict *dict = state_dict_read("gpt2");
	struct answer answer;

	(void)state;
	reconcile("gpt2", dict, &answer);
	const struct al_reconciled *entry = find_entry(&answer, "lm_head.weight");
	assert_int_equal(entry->difference, AL_DIFFERENCE_TIED);
	assert_int_equal(entry->n_found_parameters, 0);
	finish(&answer);

	state_dict_remove(dict, "lm_head.weight");
	reconcile("gpt2", dict, &answer);
	entry = find_entry(&answer, "transformer.lm_head.weight");
	assert_int_equal(entry->difference, AL_DIFFERENCE_ABSENT);
	finish(&answer);
	state_dict_finish(dict);
}

/* Scales and layers for multi-token prediction are stored, and no parameters of the model. */
static void what_is_apart_counts_apart(void **state)
{
	struct state_dict *dict = state_dict_read("deepseek_v3-fp8");
	struct answer answer;

	(void)state;
	reconcile("deepseek_v3-fp8", dict, &answer);
	assert_int_equal(find_entry(&answer, "model.layers.0.self_attn.q_b_proj.weight_scale_inv")
				 ->n_found_parameters,
		0);
	const struct al_reconciled *entry = find_entry(&answer,
		"model.layers.3.self_attn.q_b_proj.weight");
	assert_string_equal(entry->part, "multi-token prediction");
	assert_int_equal(entry->n_found_parameters, 0);
	finish(&answer);
	state_dict_finish(dict);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_dicts_agree),
		cmocka_unit_test(old_names_are_known),
		cmocka_unit_test(differences_are_told),
		cmocka_unit_test(tied_tensors_count_once),
		cmocka_unit_test(what_is_apart_counts_apart),
	};

	return cmocka_run_group_tests_name("reconcile", tests, begin, end);
}
