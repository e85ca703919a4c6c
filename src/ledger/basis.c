/* Bases: conventions on which papers differ, chosen by the asker and printed with the answer. */
#include "ledger/basis.h"

#include <string.h>

#include "base/text.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const projection_names[] = {
	[AL_OUTPUT_OWN] = "own",
	[AL_OUTPUT_FULL] = "full",
	[AL_OUTPUT_NONE] = "none",
};
static const char *const projection_texts[] = {
	[AL_OUTPUT_OWN] = "output projection as declared",
	[AL_OUTPUT_FULL] = "output projection d_model x d_model",
	[AL_OUTPUT_NONE] = "no output projection",
};
static const char *const per_names[] = {
	[AL_BASIS_MODULE] = "module",
	[AL_BASIS_LAYER] = "layer",
	[AL_BASIS_MODEL] = "model",
	[AL_BASIS_WHOLE] = "whole",
};
static const char *const per_texts[] = {
	[AL_BASIS_MODULE] = "one attention block",
	[AL_BASIS_LAYER] = "the attention of one layer",
	[AL_BASIS_MODEL] = "all attention of the model",
	[AL_BASIS_WHOLE] = "the whole model",
};
static const char *const tensor_names[] = {"all", "matrices"};
static const char *const boolean_names[] = {"false", "true"};

enum { ALL_ROLES = (1u << AL_N_ROLES) - 1 };

void al_basis_init(struct al_basis *basis)
{
	*basis = (struct al_basis){.roles = ALL_ROLES};
}

/* The index of a value among its names; -1 and an error that names the nearest where it is none. */
static int choose(const char *key, const char *value, const char *const *names, size_t n_names,
	struct al_error *err)
{
	int index = al_find_name(value, names, n_names);

	if (index < 0)
		al_fail_unknown(err, key, value, names, n_names);
	return index;
}

static bool set_projection(struct al_basis *basis, const char *value, struct al_error *err)
{
	int index = choose("output_projection", value, projection_names, COUNT(projection_names),
		err);

	if (index < 0)
		return false;
	basis->output_projection = (enum al_output_projection)index;
	return true;
}

static bool set_per(struct al_basis *basis, const char *value, struct al_error *err)
{
	if (strcmp(value, "block") == 0)
		value = per_names[AL_BASIS_MODULE];
	int index = choose("per", value, per_names, COUNT(per_names), err);

	if (index < 0)
		return false;
	basis->per = (enum al_basis_per)index;
	return true;
}

static bool set_biases(struct al_basis *basis, const char *value, struct al_error *err)
{
	int index = choose("biases", value, boolean_names, COUNT(boolean_names), err);

	if (index < 0)
		return false;
	basis->has_biases = true;
	basis->biases = index == 1;
	return true;
}

static bool set_tensors(struct al_basis *basis, const char *value, struct al_error *err)
{
	int index = choose("tensors", value, tensor_names, COUNT(tensor_names), err);

	if (index < 0)
		return false;
	basis->only_matrices = index == 1;
	return true;
}

/* "all", or role names with commas. */
static bool set_roles(struct al_basis *basis, const char *value, struct al_error *err)
{
	unsigned roles = 0;

	if (strcmp(value, "all") == 0) {
		basis->roles = ALL_ROLES;
		return true;
	}
	for (const char *p = value;; p++) {
		char name[32];
		size_t length = strcspn(p, ",");
		size_t kept = length < sizeof(name) ? length : sizeof(name) - 1;
		memcpy(name, p, kept);
		name[kept] = '\0';

		int role = choose("role", name, al_role_names, AL_N_ROLES, err);
		if (role < 0)
			return false;
		roles |= 1u << role;
		p += length;
		if (!*p)
			break;
	}
	basis->roles = roles;
	return true;
}

static const struct basis_key {
	const char *name;
	bool (*set)(struct al_basis *basis, const char *value, struct al_error *err);
} basis_keys[] = {
	{"output_projection", set_projection},
	{"biases", set_biases},
	{"roles", set_roles},
	{"tensors", set_tensors},
	{"per", set_per},
};

bool al_basis_set(struct al_basis *basis, const char *key, const char *value, struct al_error *err)
{
	const char *names[COUNT(basis_keys)];

	for (size_t i = 0; i < COUNT(basis_keys); i++) {
		if (strcmp(key, basis_keys[i].name) == 0)
			return basis_keys[i].set(basis, value, err);
		names[i] = basis_keys[i].name;
	}
	return al_fail_unknown(err, "basis", key, names, COUNT(names));
}

static void add_roles(struct al_text *text, unsigned roles)
{
	const char *comma = " of ";

	if (roles == ALL_ROLES)
		return;
	for (int role = 0; role < AL_N_ROLES; role++) {
		if (!(roles >> role & 1))
			continue;
		al_text_addf(text, "%s%s", comma, al_role_names[role]);
		comma = " and ";
	}
}

const char *al_basis_text(const struct al_basis *basis, struct al_arena *arena)
{
	struct al_text text;

	al_text_init(&text);
	al_text_addf(&text, "%s, all %s", per_texts[basis->per],
		basis->only_matrices ? "matrices" : "tensors");
	add_roles(&text, basis->roles);
	al_text_addf(&text, ", %s, %s", projection_texts[basis->output_projection],
		!basis->has_biases	? "biases as declared"
			: basis->biases ? "with biases"
					: "without biases");

	const char *copy = al_strdup(arena, text.data);
	al_text_finish(&text);
	return copy;
}
