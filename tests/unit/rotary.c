/* Rules of rotary positions for long sequences: how fast pairs turn, and the audit's offset under
 * them. What is expected was worked out in numpy from wave lengths, as the rules' authors state
 * them: a wave of 2 pi base^(2i/width) positions that is longer than original/low_freq_factor is
 * stretched by the factor, one shorter than original/high_freq_factor isn't (Llama 3.1); YaRN ramps
 * over dimensions. */
#include "llama.h"

#include "audit/notes.h"
#include "audit/rotary.h"
#include "model/heads/rotary.h"

static const char *scaling[] = {"rope_scaling", "rope_parameters"};

static struct al_attention attention_of(int64_t width, int64_t base)
{
	return (struct al_attention){.name = "layers.0",
		.is_rotary = true,
		.rotary_width = width,
		.rotary_base = base,
		.rotary_scaling = scaling,
		.n_rotary_scaling = 2};
}

static void set_config(struct al_model_view *view, const char *text)
{
	struct al_error err;

	al_json_finish(&view->config);
	if (!al_json_parse(&view->config, "config.json", text, strlen(text), &err))
		fail_msg("%s", err.message);
	view->config_path = "config.json";
}

/* ---- speeds ---- */

#define LLAMA3 \
	"{\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": " \
	"1.0, \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192}}"
#define YARN(more) \
	"{\"max_position_embeddings\": 131072, \"rope_parameters\": {\"type\": \"yarn\", " \
	"\"factor\": 32.0, \"original_max_position_embeddings\": 4096" more "}}"

static void turns_as_the_rules_say(void **state)
{
	static const struct {
		const char *config, *name;
		int64_t width, base;
		double attention_factor;
		struct {
			size_t index;
			double speed;
		} of[7];
	} cases[] = {
		{LLAMA3, "llama3", 128, 500000, 1,
			{{0, 1}, {20, 0.016560440080994446}, {30, 0.0013718935677611381},
				{33, 0.00031269375038406517}, {40, 3.428102195952591e-05},
				{63, 3.068925988914511e-07}}},
		{YARN(""), "yarn", 64, 150000, 1.3465735902799727,
			{{0, 1}, {7, 0.07374456821026082}, {9, 0.031620752275346484},
				{12, 0.00701571391050439}, {17, 0.0002279477957951252},
				{20, 1.818833668168956e-05}, {31, 3.0235114281192144e-07}}},
		{YARN(", \"truncate\": false, \"attention_factor\": 1.25"), "yarn", 64, 150000,
			1.25,
			{{0, 1}, {8, 0.050813274815461475}, {9, 0.03170569618466377},
				{12, 0.00679495948973222}, {17, 0.00012931870124506317},
				{20, 1.818833668168956e-05}, {31, 3.0235114281192144e-07}}},
		/* a ramp without a width: what turns once in 4096 positions is as it was */
		{YARN(", \"truncate\": false, \"beta_fast\": 1, \"beta_slow\": 1"), "yarn", 64,
			10000, 1.3465735902799727,
			{{0, 1}, {22, 0.0017782794100389228}, {23, 4.1672544755103877e-05}}},
		/* DeepSeek-V3's two scales cancel; here (0.1 ln 40 + 1)/(0.05 ln 40 + 1). */
		{"{\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40, \"mscale\": 1.0, "
		 "\"mscale_all_dim\": 0.5, \"original_max_position_embeddings\": 4096}}",
			"yarn", 64, 10000, 1.1557219901962608, {{0, 1}}},
		{"{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4.0}}", "linear", 64, 10000,
			1, {{0, 0.25}, {5, 0.059284342641541386}, {31, 3.33380358040831e-05}}},
		{"{\"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 10000}}", NULL,
			64, 10000, 1,
			{{0, 1}, {5, 0.23713737056616555}, {31, 0.0001333521432163324}}},
		{"{\"rope_scaling\": null}", NULL, 64, 10000, 1, {{5, 0.23713737056616555}}},
		{"{\"max_position_embeddings\": 8, \"rope_scaling\": {\"type\": \"longrope\", "
		 "\"short_factor\": [1, 2], \"long_factor\": [5, 8], "
		 "\"original_max_position_embeddings\": 2}}",
			"longrope", 4, 100, 1.7320508075688772, {{0, 1}, {1, 0.05}}},
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct al_attention attention = attention_of(cases[i].width, cases[i].base);
		struct al_model_view view = {.config = {0}};
		struct al_rotary_rule rule;
		struct al_error err;
		al_arena_init(&view.arena);
		set_config(&view, cases[i].config);
		if (!al_rotary_rule_read(&view, &attention, &view.arena, &rule, &err))
			fail_msg("%s: %s", cases[i].config, err.message);
		const char *name = al_rotary_rule_name(&rule);
		assert_true(
			name ? cases[i].name && strcmp(name, cases[i].name) == 0 : !cases[i].name);
		assert_near(rule.attention_factor, cases[i].attention_factor);
		for (size_t k = 0; k < 7 && cases[i].of[k].speed > 0; k++) {
			const double speed = al_rotary_speed(&rule, &attention,
				cases[i].of[k].index, 1);
			assert_true(fabs(speed / cases[i].of[k].speed - 1) < 1e-12);
		}
		al_json_finish(&view.config);
		al_arena_finish(&view.arena);
	}
}

static void refuses_wrong_rules(void **state)
{
	static const char *const cases[][2] = {
		{"{\"rope_scaling\": {\"type\": \"yarrn\", \"factor\": 2}}",
			"unknown rule of rotary positions \"yarrn\" (did you mean \"yarn\"?)"},
		{"{\"rope_scaling\": [1]}", "expected an object"},
		{"{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 0}}",
			"factor is 0, expected more than 0"},
		{"{\"rope_scaling\": {\"type\": \"linear\", \"factor\": \"4\"}}",
			"expected a number"},
		{"{\"rope_scaling\": {\"type\": \"llama3\", \"factor\": 8, "
		 "\"original_max_position_embeddings\": 8192}}",
			"expected low_freq_factor and a larger high_freq_factor"},
		{"{\"rope_scaling\": {\"type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 4, "
		 "\"high_freq_factor\": 4, \"original_max_position_embeddings\": 8192}}",
			"expected low_freq_factor and a larger high_freq_factor"},
		{"{\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 8, "
		 "\"original_max_position_embeddings\": 1}}",
			"expected original_max_position_embeddings"},
		{"{\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 0]}}",
			"expected more than 0"},
		{"{\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 8}}",
			"expected original_max_position_embeddings"},
		{"{\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1], "
		 "\"long_factor\": [1], \"original_max_position_embeddings\": 4}}",
			"1 rotary factors, expected 32"},
		{"{\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1], "
		 "\"original_max_position_embeddings\": 4}}",
			"config.json:1:18: expected short_factor and long_factor"},
		{"{\"rope_scaling\": {\"type\": \"longrope\", \"short_mscale\": 1.5, "
		 "\"long_mscale\": 1.25}}",
			"config.json:1:18: short_mscale is 1.5 and long_mscale 1.25, expected one "
			"number"},
		{"{\"rope_scaling\": true}",
			"config.json:1:18: the scaling of frequencies is unspecified: expected "
			"\"rope_scaling\" with rope_type, factor ..."},
	};
	const struct al_attention attention = attention_of(64, 10000);
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct al_model_view view = {.config = {0}};
		struct al_rotary_rule rule;
		struct al_error err;
		al_arena_init(&view.arena);
		set_config(&view, cases[i][0]);
		assert_false(al_rotary_rule_read(&view, &attention, &view.arena, &rule, &err));
		if (!strstr(err.message, cases[i][1]))
			fail_msg("%s", err.message);
		al_json_finish(&view.config);
		al_arena_finish(&view.arena);
	}
}

/* ---- the audit's offset ---- */

static void assert_same_queries(const struct llama *m, int64_t scaled, int64_t plain)
{
	const struct al_audit_options a = {.offset = scaled}, b = {.offset = plain};
	struct llama other = *m;
	struct al_attention modules[LAYERS];

	memcpy(modules, m->view.modules, sizeof(modules));
	modules[0].rotary_speeds = NULL;
	other.view.modules = modules;
	struct al_audit_module x = load_layer(m, 0, a), y = load_layer(&other, 0, b);
	for (size_t i = 0; i < D * D; i++)
		assert_near(x.heads.query.data[i], y.heads.query.data[i]);
	al_audit_module_finish(&x);
	al_audit_module_finish(&y);
}

/* Positions divided by 4: offset 20 is what offset 5 was. */
static void offsets_are_scaled(void **state)
{
	struct llama m;
	(void)state;

	open_llama(&m);
	set_config(&m.view, "{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4}}");
	assert_true(al_audit_set_offset(&m.view, 20, NULL));
	assert_same_queries(&m, 20, 5);
	set_config(&m.view, "{}");
	assert_true(al_audit_set_offset(&m.view, 20, NULL));
	assert_same_queries(&m, 20, 20);
	close_llama(&m);
}

/* Dynamic scaling is none up to the trained positions; beyond, nobody knows the sequence. */
static void offsets_that_hang_on_length(void **state)
{
	struct al_error err;
	struct llama m;
	(void)state;

	open_llama(&m);
	set_config(&m.view,
		"{\"max_position_embeddings\": 16, \"rope_scaling\": {\"type\": \"dynamic\", "
		"\"factor\": 4}}");
	assert_true(al_audit_set_offset(&m.view, 15, &err));
	assert_same_queries(&m, 15, 15);
	assert_false(al_audit_set_offset(&m.view, 16, &err));
	assert_string_equal(err.message,
		"--offset 16: with dynamic scaling scores depend on the sequence length from 16 "
		"tokens on; use a smaller offset");
	set_config(&m.view,
		"{\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [4, 4], "
		"\"long_factor\": [8, 8], \"original_max_position_embeddings\": 16, \"factor\": "
		"2}}");
	assert_true(al_audit_set_offset(&m.view, 12, &err));
	assert_same_queries(&m, 12, 3);
	assert_true(al_audit_set_offset(&m.view, 16, &err)); /* the sequence is longer than 16 */
	assert_same_queries(&m, 16, 2);
	close_llama(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_as_the_rules_say),
		cmocka_unit_test(refuses_wrong_rules),
		cmocka_unit_test(offsets_are_scaled),
		cmocka_unit_test(offsets_that_hang_on_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
