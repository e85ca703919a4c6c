/* The JSON Schemas for editors hold for every scenario and variant file of this repository, and
 * refuse what the program refuses.
 *
 * A validator of the part of draft 7 that they use; a keyword that it doesn't know fails the
 * test. */
#include "unit.h"

#include <glob.h>
#include <regex.h>

#include "base/json.h"
#include "base/text.h"

#define SCENARIO_SCHEMA "scenarios/attnledger-scenario.json"
#define VARIANT_SCHEMA "src/catalog/attnledger-variant.json"

static struct al_json scenario_schema, variant_schema;

/* One keyword of `schema`, whose file is `doc`, against a value. */
typedef bool keyword_holds(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value);

static bool holds(const struct al_json *doc, const struct cJSON *schema, const struct cJSON *value);

/* ---- reading schemas ---- */

static const char *text_of(const struct cJSON *node)
{
	const char *text = NULL;

	assert_true(al_json_text(&scenario_schema, node, &text, NULL));
	return text;
}

static double number_of(const struct cJSON *node)
{
	double number = 0;

	assert_true(al_json_real(&scenario_schema, node, &number, NULL));
	return number;
}

static bool is_text(const struct cJSON *value)
{
	return al_json_kind(value) == AL_JSON_TEXT;
}

static bool is_number(const struct cJSON *value)
{
	return al_json_kind(value) == AL_JSON_NUMBER;
}

static bool is_object(const struct cJSON *value)
{
	return al_json_kind(value) == AL_JSON_OBJECT;
}

static bool is_array(const struct cJSON *value)
{
	return al_json_kind(value) == AL_JSON_ARRAY;
}

/* "#/definitions/NAME", or the whole variant schema. */
static bool holds_reference(const struct al_json *doc, const char *reference,
	const struct cJSON *value)
{
	static const char prefix[] = "#/definitions/";

	if (strcmp(reference, "../" VARIANT_SCHEMA) == 0)
		return holds(&variant_schema, variant_schema.root, value);
	assert_int_equal(strncmp(reference, prefix, strlen(prefix)), 0);
	const struct cJSON *definition = al_json_get(al_json_get(doc->root, "definitions"),
		reference + strlen(prefix));
	assert_non_null(definition);
	return holds(doc, definition, value);
}

/* ---- keywords ---- */

static bool annotates(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)doc, (void)keyword, (void)schema, (void)value;
	return true;
}

static bool has_type(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	static const char *const names[] = {
		[AL_JSON_NULL] = "null",
		[AL_JSON_BOOLEAN] = "boolean",
		[AL_JSON_NUMBER] = "number",
		[AL_JSON_TEXT] = "string",
		[AL_JSON_ARRAY] = "array",
		[AL_JSON_OBJECT] = "object",
	};
	int64_t whole;

	(void)schema;
	if (strcmp(text_of(keyword), "integer") == 0)
		return al_json_whole(doc, value, &whole, NULL);
	return strcmp(text_of(keyword), names[al_json_kind(value)]) == 0;
}

static bool is_among(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)doc, (void)schema;
	al_json_each (word, keyword)
		if (is_text(value) && strcmp(text_of(word), text_of(value)) == 0)
			return true;
	return false;
}

static bool matches(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	regex_t regex;

	(void)doc, (void)schema;
	if (!is_text(value))
		return true;
	assert_int_equal(regcomp(&regex, text_of(keyword), REG_EXTENDED | REG_NOSUB), 0);
	bool found = regexec(&regex, text_of(value), 0, NULL, 0) == 0;
	regfree(&regex);
	return found;
}

static bool is_long_enough(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)doc, (void)schema;
	return !is_text(value) || (double)strlen(text_of(value)) >= number_of(keyword);
}

static bool is_short_enough(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)doc, (void)schema;
	return !is_text(value) || (double)strlen(text_of(value)) <= number_of(keyword);
}

static bool is_at_least(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)doc, (void)schema;
	return !is_number(value) || number_of(value) >= number_of(keyword);
}

static bool is_at_most(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)doc, (void)schema;
	return !is_number(value) || number_of(value) <= number_of(keyword);
}

static bool has_items(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)schema;
	if (!is_array(value))
		return true;
	al_json_each (item, value)
		if (!holds(doc, keyword, item))
			return false;
	return true;
}

static bool has_enough_items(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)doc, (void)schema;
	return !is_array(value) || (double)al_json_size(value) >= number_of(keyword);
}

static bool has_few_items(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)doc, (void)schema;
	return !is_array(value) || (double)al_json_size(value) <= number_of(keyword);
}

static bool has_different_items(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)doc, (void)keyword, (void)schema;
	if (!is_array(value))
		return true;
	al_json_each (a, value)
		for (const struct cJSON *b = al_json_next(a); b; b = al_json_next(b))
			if (is_text(a) && is_text(b) && strcmp(text_of(a), text_of(b)) == 0)
				return false;
	return true;
}

static bool has_required(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)doc, (void)schema;
	al_json_each (key, keyword)
		if (is_object(value) && !al_json_get(value, text_of(key)))
			return false;
	return true;
}

static bool has_enough_members(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)doc, (void)schema;
	return !is_object(value) || (double)al_json_size(value) >= number_of(keyword);
}

static bool has_properties(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)schema;
	if (!is_object(value))
		return true;
	al_json_each (property, keyword) {
		const struct cJSON *member = al_json_get(value, al_json_key(property));
		if (member && !holds(doc, property, member))
			return false;
	}
	return true;
}

static bool allows_others(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	const struct cJSON *properties = al_json_get(schema, "properties");

	if (!is_object(value))
		return true;
	al_json_each (member, value) {
		if (properties && al_json_get(properties, al_json_key(member)))
			continue;
		if (al_json_kind(keyword) == AL_JSON_BOOLEAN || !holds(doc, keyword, member))
			return false;
	}
	return true;
}

static bool name_holds(const struct al_json *doc, const struct cJSON *schema, const char *name)
{
	struct al_json quoted;
	struct al_text text;

	al_text_init(&text);
	al_json_quote(&text, name);
	assert_true(al_json_parse(&quoted, "name", text.data, text.length, NULL));
	bool ok = holds(doc, schema, quoted.root);
	al_json_finish(&quoted);
	al_text_finish(&text);
	return ok;
}

static bool has_names(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)schema;
	if (!is_object(value))
		return true;
	al_json_each (member, value)
		if (!name_holds(doc, keyword, al_json_key(member)))
			return false;
	return true;
}

static bool has_dependencies(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	al_json_each (dependency, keyword)
		if (is_object(value) && al_json_get(value, al_json_key(dependency))
			&& !has_required(doc, dependency, schema, value))
			return false;
	return true;
}

static size_t count_holding(const struct al_json *doc, const struct cJSON *schemas,
	const struct cJSON *value)
{
	size_t n = 0;

	al_json_each (schema, schemas)
		n += holds(doc, schema, value);
	return n;
}

static bool holds_any(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)schema;
	return count_holding(doc, keyword, value) > 0;
}

static bool holds_one(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)schema;
	return count_holding(doc, keyword, value) == 1;
}

static bool holds_all(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)schema;
	return count_holding(doc, keyword, value) == al_json_size(keyword);
}

static bool holds_not(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	(void)schema;
	return !holds(doc, keyword, value);
}

static bool holds_if(const struct al_json *doc, const struct cJSON *keyword,
	const struct cJSON *schema, const struct cJSON *value)
{
	const struct cJSON *branch = al_json_get(schema,
		holds(doc, keyword, value) ? "then" : "else");

	return !branch || holds(doc, branch, value);
}

static const struct {
	const char *name;
	keyword_holds *holds;
} keywords[] = {
	{"$schema", annotates},
	{"$id", annotates},
	{"title", annotates},
	{"description", annotates},
	{"examples", annotates},
	{"definitions", annotates},
	{"then", annotates},
	{"else", annotates},
	{"type", has_type},
	{"enum", is_among},
	{"pattern", matches},
	{"minLength", is_long_enough},
	{"maxLength", is_short_enough},
	{"minimum", is_at_least},
	{"maximum", is_at_most},
	{"items", has_items},
	{"minItems", has_enough_items},
	{"maxItems", has_few_items},
	{"uniqueItems", has_different_items},
	{"required", has_required},
	{"minProperties", has_enough_members},
	{"properties", has_properties},
	{"additionalProperties", allows_others},
	{"propertyNames", has_names},
	{"dependencies", has_dependencies},
	{"anyOf", holds_any},
	{"oneOf", holds_one},
	{"allOf", holds_all},
	{"not", holds_not},
	{"if", holds_if},
};

static keyword_holds *find_keyword(const char *name)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (strcmp(keywords[i].name, name) == 0)
			return keywords[i].holds;
	fail_msg("unknown keyword \"%s\"", name);
	return annotates;
}

/* In draft 7, nothing beside a reference counts. */
static bool holds(const struct al_json *doc, const struct cJSON *schema, const struct cJSON *value)
{
	const struct cJSON *reference = al_json_get(schema, "$ref");

	if (reference)
		return holds_reference(doc, text_of(reference), value);
	al_json_each (keyword, schema)
		if (!find_keyword(al_json_key(keyword))(doc, keyword, schema, value))
			return false;
	return true;
}

/* ---- files ---- */

static int read_schemas(void **state)
{
	(void)state;
	return al_json_read(&scenario_schema, SCENARIO_SCHEMA, NULL)
			&& al_json_read(&variant_schema, VARIANT_SCHEMA, NULL)
		? 0
		: -1;
}

static int finish_schemas(void **state)
{
	(void)state;
	al_json_finish(&scenario_schema);
	al_json_finish(&variant_schema);
	return 0;
}

static void check_file(const struct al_json *schema, const char *path)
{
	struct al_json file;

	assert_true(al_json_read(&file, path, NULL));
	if (!holds(schema, schema->root, file.root))
		fail_msg("%s is not as %s has it", path, schema->name);
	al_json_finish(&file);
}

static void check_files(const struct al_json *schema, const char *pattern)
{
	glob_t found;

	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (!strstr(found.gl_pathv[i], "attnledger-"))
			check_file(schema, found.gl_pathv[i]);
	globfree(&found);
}

static void scenario_files_are_valid(void **state)
{
	(void)state;
	check_files(&scenario_schema, "scenarios/*.json");
}

static void variant_files_are_valid(void **state)
{
	(void)state;
	check_files(&variant_schema, "src/catalog/variants/*.json");
}

/* ---- texts ---- */

/* The texts have ' for ". */
static bool text_holds(const struct al_json *schema, const char *text)
{
	struct al_json doc;
	struct al_text quoted;

	al_text_init(&quoted);
	al_text_add(&quoted, text);
	for (size_t i = 0; i < quoted.length; i++)
		if (quoted.data[i] == '\'')
			quoted.data[i] = '"';
	assert_true(al_json_parse(&doc, "text", quoted.data, quoted.length, NULL));
	bool ok = holds(schema, schema->root, doc.root);
	al_json_finish(&doc);
	al_text_finish(&quoted);
	return ok;
}

static void accepts_what_the_program_accepts(void **state)
{
	static const char *const texts[] = {
		"{'title': 't', 'variants': ['mha', {'use': 'gqa', 'n_kv_heads': 4, 'biases': "
		"true}]}",
		"{'title': 't', 'sweeps': [{'id': 's', 'over': {'seq': [1, 2]}, "
		"'measure': ['cache']}]}",
		"{'title': 't', 'claims': [{'id': '1', 'printed': '0..1', 'relation': 'in', "
		"'value': 's/mha/seq=1/cache'}]}",
		"{'title': 't', 'data': [{'id': 'd', 'file': 'd.csv', 'metric': {'f1': "
		"'higher'}}]}",
		"{'title': 't', 'note': 'n', 'set': {'batch': 1, 'note': 'n'}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!text_holds(&scenario_schema, texts[i]))
			fail_msg("refuses %s", texts[i]);
}

static void refuses_wrong_scenarios(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{'title': 't', 'table': []}",
		"{'title': 't', 'set': {'batch': -1}}",
		"{'title': 't', 'basis': {'output_projection': 'half'}}",
		"{'title': 't', 'cases': [{'id': 'a/b'}]}",
		"{'title': 't', 'variants': [{'use': 'gqa', 'n_kv_heads': '4'}]}",
		"{'title': 't', 'variants': [{'name': 'v', 'tensors': [{'name': 'W', "
		"'role': 'qkv', 'shape': [1]}]}]}",
		"{'title': 't', 'data': [{'id': 'd', 'columns': ['f1'], 'rows': [[0.5]]}]}",
		"{'title': 't', 'data': [{'id': 'd', 'columns': ['f1'], 'rows': [], "
		"'file': 'd.csv'}]}",
		"{'title': 't', 'data': [{'id': 'd', 'file': 'd.csv', 'metric': {'f1': 'up'}}]}",
		"{'title': 't', 'tables': [{'id': 'Table 1', 'columns': ['total']}]}",
		"{'title': 't', 'tables': [{'id': 't', 'columns': []}]}",
		"{'title': 't', 'tables': [{'id': 't', 'columns': ['score of f1']}]}",
		"{'title': 't', 'tables': [{'id': 't', 'case': 'a', 'cases': ['a'], "
		"'columns': ['total']}]}",
		"{'title': 't', 'sweeps': [{'id': 's', 'over': {}, 'measure': 'cache'}]}",
		"{'title': 't', 'sweeps': [{'id': 's', 'over': {'seq': {'from': 1}}, "
		"'measure': 'cache'}]}",
		"{'title': 't', 'figures': [{'id': 'f', 'of': 't', 'mark': 'pie'}]}",
		"{'title': 't', 'figures': [{'id': 'f', 'of': 't', 'mark': 'bar', "
		"'y': {'scale': 'log'}}]}",
		"{'title': 't', 'claims': [{'id': '1', 'printed': '1'}]}",
		"{'title': 't', 'claims': [{'id': '1', 'printed': '1', 'value': 't/a/b', "
		"'underivable': 'x'}]}",
		"{'title': 't', 'claims': [{'id': '1', 'printed': '1', 'value': '100*3'}]}",
		"{'title': 't', 'claims': [{'id': '1', 'printed': '1', 'value': 'a', "
		"'with': {'a': '3'}}]}",
		"{'title': 't', 'claims': [{'id': '1', 'printed': '1', 'value': 't/a/b', "
		"'relation': '<='}]}",
		"{'title': 't', 'errata': [{'id': '1'}]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (text_holds(&scenario_schema, texts[i]))
			fail_msg("accepts %s", texts[i]);
}

static void refuses_wrong_variants(void **state)
{
	static const char *const texts[] = {
		"{'name': 'v'}",
		"{'name': 'a,b', 'tensors': []}",
		"{'name': 'v', 'tensor': []}",
		"{'name': 'v', 'tensors': [{'name': 'W', 'shape': [1]}]}",
		"{'name': 'v', 'tensors': [{'name': 'W', 'role': 'key', 'shape': []}]}",
		"{'name': 'v', 'tensors': [{'name': 'W', 'role': 'key', 'shape': [1], "
		"'saved': 'eager'}]}",
		"{'name': 'v', 'tensors': [], 'options': {'biases': 1}}",
		"{'name': 'v', 'tensors': [], 'symbols': {'max': 'the greatest'}}",
		"{'name': 'v', 'tensors': [], 'cache': [{'name': 'K', 'shape': [1], 'per': "
		"'layer'}]}",
		"{'name': 'v', 'tensors': [], 'products': [{'name': 'p', 'left': [1], "
		"'right': [1, 2]}]}",
		"{'name': 'v', 'tensors': [], 'checks': [{'source': 's'}]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (text_holds(&variant_schema, texts[i]))
			fail_msg("accepts %s", texts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scenario_files_are_valid),
		cmocka_unit_test(variant_files_are_valid),
		cmocka_unit_test(accepts_what_the_program_accepts),
		cmocka_unit_test(refuses_wrong_scenarios),
		cmocka_unit_test(refuses_wrong_variants),
	};

	return cmocka_run_group_tests(tests, read_schemas, finish_schemas);
}
