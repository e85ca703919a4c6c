/* Every built-in variant at shapes where no two widths agree: tests/data/odd-shapes.json, worked by
 * hand. The same parameters must come out of the tensors one by one and out of the polynomial. */
#include "unit.h"

#include "base/arena.h"
#include "base/json.h"
#include "base/text.h"
#include "ledger/ledger.h"

static const char path[] = "tests/data/odd-shapes.json";

static const struct quantity {
	const char *key;
	enum al_measure measure;
	enum al_output_projection projection;
	const char *recipe;
} quantities[] = {
	{"none", AL_PARAMETERS, AL_OUTPUT_NONE, NULL},
	{"own", AL_PARAMETERS, AL_OUTPUT_OWN, NULL},
	{"full", AL_PARAMETERS, AL_OUTPUT_FULL, NULL},
	{"cache", AL_CACHE, AL_OUTPUT_OWN, NULL},
	{"eager", AL_ACTIVATIONS, AL_OUTPUT_OWN, "korthikanti2022"},
	{"flash", AL_ACTIVATIONS, AL_OUTPUT_OWN, "korthikanti2022-flash"},
	{"flops", AL_FLOPS, AL_OUTPUT_OWN, NULL},
};

enum { N_QUANTITIES = sizeof(quantities) / sizeof(*quantities), MOST_BINDINGS = 16 };

struct world {
	struct al_arena arena;
	struct al_catalog *catalog;
	struct al_json doc;
};

/* A case of the file: a variant, and everything that is set in it. */
struct odd {
	struct al_configured_variant configured;
	struct al_binding with[MOST_BINDINGS];
	const char *working; /* of the quantity at hand, for messages */
};

static int set_up(void **state)
{
	static struct world world;
	struct al_error err = {0};

	al_arena_init(&world.arena);
	world.catalog = al_catalog_create();
	*state = &world;
	if (al_json_read(&world.doc, path, &err))
		return 0;
	print_error("%s\n", err.message);
	return -1;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	al_json_finish(&world->doc);
	al_catalog_destroy(world->catalog);
	al_arena_finish(&world->arena);
	return 0;
}

static void must(bool ok, const struct al_error *err)
{
	if (!ok)
		fail_msg("%s", err->message);
}

/* ---- a case ---- */

static int64_t value_of(const struct al_json *doc, const struct al_item *node)
{
	struct al_error err = {0};
	bool is_on;
	int64_t value;

	if (al_json_kind(node) == AL_JSON_BOOLEAN) {
		must(al_json_boolean(doc, node, &is_on, &err), &err);
		return is_on;
	}
	must(al_json_whole_from(doc, node, 0, &value, &err), &err);
	return value;
}

static void read_case(struct world *world, const struct al_item *node, struct odd *odd)
{
	struct al_error err = {0};
	const char *name;

	*odd = (struct odd){0};
	must(al_json_get_text(&world->doc, node, "variant", true, &name, &err), &err);
	must(al_catalog_variant(world->catalog, name, &odd->configured.variant, &err), &err);
	odd->configured.name = odd->configured.variant->name;
	odd->configured.with = odd->with;
	al_json_each (member, al_json_get(node, "with")) {
		assert_true(odd->configured.n_with < MOST_BINDINGS);
		odd->with[odd->configured.n_with++] = (struct al_binding){al_json_key(member),
			value_of(&world->doc, member)};
	}
}

static void open_block(struct world *world, const struct odd *odd,
	enum al_output_projection projection, struct al_basis *basis, struct al_ledger *ledger)
{
	struct al_settings settings;
	struct al_error err = {0};

	al_basis_init(basis);
	basis->output_projection = projection;
	al_settings_init(&settings, world->catalog);
	must(al_ledger_open_module(ledger, &odd->configured, &settings, basis, &err), &err);
	al_settings_finish(&settings);
}

/* ---- what the program says ---- */

static void measure(struct world *world, const struct odd *odd, const struct quantity *quantity,
	mpq_t out)
{
	const struct al_recipe *recipe = NULL;
	struct al_error err = {0};
	struct al_basis basis;
	struct al_ledger ledger;

	if (quantity->recipe)
		must(al_catalog_recipe(world->catalog, quantity->recipe, &recipe, &err), &err);
	open_block(world, odd, quantity->projection, &basis, &ledger);
	must(al_ledger_measure(&ledger, quantity->measure, recipe, out, &err), &err);
	al_ledger_close(&ledger);
}

/* The tensors of the ledger, one by one. */
static void enumerate(struct world *world, const struct odd *odd,
	enum al_output_projection projection, mpq_t out)
{
	struct al_error err = {0};
	struct al_basis basis;
	const struct al_ledger_list *list;
	struct al_ledger ledger;

	open_block(world, odd, projection, &basis, &ledger);
	must(al_ledger_list(&ledger, AL_LIST_TENSORS, &list, &err), &err);
	mpq_set_ui(out, 0, 1);
	for (size_t i = 0; i < list->n; i++)
		mpq_add(out, out, list->items[i].elements);
	al_ledger_close(&ledger);
}

/* The polynomial of the tensors' formulas, all symbols being numbers. */
static void evaluate_polynomial(struct world *world, const struct odd *odd,
	enum al_output_projection projection, mpq_t out)
{
	struct al_polynomial *polynomial;
	struct al_error err = {0};
	struct al_basis basis;
	struct al_ledger ledger;
	struct al_text text;

	open_block(world, odd, projection, &basis, &ledger);
	must(al_ledger_polynomial(&ledger, NULL, 0, &polynomial, &err), &err);
	al_text_init(&text);
	al_polynomial_text(polynomial, &text);
	if (mpq_set_str(out, text.data, 10) != 0)
		fail_msg("%s: found \"%s\", expected a number", odd->configured.name, text.data);
	al_text_finish(&text);
	al_polynomial_destroy(polynomial);
	al_ledger_close(&ledger);
}

static void expect(const struct odd *odd, const char *key, const char *way, mpq_srcptr found,
	int64_t expected)
{
	struct al_value value;
	mpq_t hand;

	mpq_init(hand);
	al_value_init(&value);
	al_value_set_int(&value, expected);
	al_value_get(&value, hand);
	if (!mpq_equal(found, hand))
		fail_msg("%s, %s, %s: found %s, expected %lld = %s", odd->configured.name, key, way,
			mpq_get_str(NULL, 10, found), (long long)expected, odd->working);
	mpq_clear(hand);
}

/* The working comes to the integer beside it. */
static void check_working(struct world *world, const char *working, int64_t expected)
{
	const struct al_formula *formula;
	struct al_scope no_symbols = {0};
	struct al_error err = {0};
	int64_t value;

	must(al_formula_parse(&world->arena, working, AL_DIALECT_CATALOG, &formula, &err), &err);
	must(al_formula_whole(formula, &no_symbols, 0, &value, &err), &err);
	if (value != expected)
		fail_msg("%s is %lld, not %lld", working, (long long)value, (long long)expected);
}

/* ---- tests ---- */

static void check_quantity(struct world *world, struct odd *odd, const struct quantity *quantity,
	const struct al_item *hand)
{
	struct al_error err = {0};
	int64_t expected = value_of(&world->doc, al_json_get(hand, "is"));
	mpq_t found;

	must(al_json_get_text(&world->doc, hand, "working", true, &odd->working, &err), &err);
	check_working(world, odd->working, expected);
	mpq_init(found);
	measure(world, odd, quantity, found);
	expect(odd, quantity->key, "measured", found, expected);
	if (quantity->measure == AL_PARAMETERS) {
		enumerate(world, odd, quantity->projection, found);
		expect(odd, quantity->key, "tensor by tensor", found, expected);
		evaluate_polynomial(world, odd, quantity->projection, found);
		expect(odd, quantity->key, "by polynomial", found, expected);
	}
	mpq_clear(found);
}

static void agrees_with_hand_work(void **state)
{
	struct world *world = *state;

	al_json_each (node, al_json_get(world->doc.root, "cases")) {
		struct odd odd;
		read_case(world, node, &odd);
		for (size_t i = 0; i < N_QUANTITIES; i++) {
			const struct al_item *hand = al_json_get(node, quantities[i].key);
			if (hand)
				check_quantity(world, &odd, &quantities[i], hand);
		}
	}
}

/* Has a case of this variant the quantity? */
static bool is_worked(struct world *world, const char *variant, const char *key)
{
	al_json_each (node, al_json_get(world->doc.root, "cases")) {
		struct odd odd;
		read_case(world, node, &odd);
		if (strcmp(odd.configured.name, variant) == 0 && al_json_get(node, key))
			return true;
	}
	return false;
}

static void covers_every_built_in_variant(void **state)
{
	const struct al_embedded_list *list = al_catalog_files(AL_CATALOG_VARIANTS);
	struct world *world = *state;

	for (size_t i = 0; i < list->n_files; i++)
		for (size_t j = 0; j < N_QUANTITIES; j++)
			if (!is_worked(world, list->files[i].name, quantities[j].key))
				fail_msg("%s has no case with \"%s\" in %s", list->files[i].name,
					quantities[j].key, path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_hand_work),
		cmocka_unit_test(covers_every_built_in_variant),
	};

	return cmocka_run_group_tests_name("odd shapes", tests, set_up, tear_down);
}
