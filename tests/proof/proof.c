/* What is claimed of variants holds on random weights, and what isn't so doesn't. */
#include "unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output.h"
#include "proof/identity.h"
#include "proof/proof.h"
#include "support/folder.h"

static void must(bool ok, const struct al_error *err)
{
	if (!ok)
		fail_msg("%s", err->message);
}

static void test_claims(void **state)
{
	struct al_catalog *catalog = al_catalog_create();

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct al_arena arena;
		struct al_proofs proofs;
		struct al_error err;
		al_arena_init(&arena);
		must(al_proofs_run(&proofs, &arena, catalog, seed, &err), &err);
		assert_true(proofs.n >= 20);
		for (size_t i = 0; i < proofs.n; i++)
			if (!al_proof_holds(&proofs.items[i]))
				fail_msg("seed %d, %s: %g, %s", (int)seed, proofs.items[i].id,
					proofs.items[i].difference,
					proofs.items[i].problem ? proofs.items[i].problem : "");
		al_arena_finish(&arena);
	}
	al_catalog_destroy(catalog);
}

/* A number that is changed by a thousandth is seen; so is a tensor that nobody declares, or one of
 * another shape. */
static void test_what_is_not_so(void **state)
{
	struct al_catalog *catalog = al_catalog_create();
	struct al_random *random = al_random_create(1, 2, 3, 4);
	struct al_proof_block block;
	struct al_arena arena;
	struct al_error err;
	struct al_grid before, after;

	(void)state;
	al_arena_init(&arena);
	struct al_grid x = al_grid_new(&arena, AL_PROOF_TOKENS, AL_PROOF_D_MODEL);
	al_random_gaussian(random, x.items, (size_t)AL_PROOF_TOKENS * AL_PROOF_D_MODEL);
	must(al_proof_block_open(&block, &arena, catalog, "mhe-mul", random, &err), &err);
	must(al_proof_run(&block, x, &before, &err), &err);
	for (size_t i = 0; i < block.n_tensors; i++) {
		assert_true(block.tensors[i].is_taken);
		block.tensors[i].grid.items[0] += 1e-3;
		must(al_proof_run(&block, x, &after, &err), &err);
		assert_true(al_grid_difference(before, after) > 1e-8);
		block.tensors[i].grid.items[0] -= 1e-3;
	}
	assert_null(block.problem);
	al_proof_take(&block, "e_Q", 1, 1);
	assert_string_equal(block.problem, "e_Q is 4 x 3, the pass needs 1 x 1");
	al_proof_take(&block, "e_X", 1, 1);
	assert_string_equal(block.problem, "e_X isn't declared");
	must(al_proof_block_open(&block, &arena, catalog, "fnet", random, &err), &err);
	assert_false(al_proof_run(&block, x, &after, &err));
	assert_string_equal(err.message, "variant fnet has no pass");
	al_arena_finish(&arena);
	al_random_destroy(random);
	al_catalog_destroy(catalog);
}

/* What a killed proof left is removed by the next, which leaves nothing itself. */
static void test_leftovers(void **state)
{
	struct al_catalog *catalog = al_catalog_create();
	struct test_folder around;
	struct al_output *left;
	struct al_error err;
	char path[256];
	double difference;

	(void)state;
	test_folder_make(&around);
	setenv("TMPDIR", around.path, 1);
	const pid_t child = fork();
	if (child == 0) {
		static const char *const files[] = {"original.safetensors"};
		const bool ok = al_output_open_folder(&left, test_path(path, &around, "a"), files,
			1, &err);
		FILE *file = ok ? fopen(al_output_file(left, 0), "w") : NULL;
		raise(file ? SIGKILL : SIGTERM);
	}
	int status = 0;
	assert_true(waitpid(child, &status, 0) == child && WTERMSIG(status) == SIGKILL);
	assert_int_equal(test_folder_count(around.path), 1);
	must(al_identity_run(&al_identities[0], catalog, 1, &difference, &err), &err);
	assert_int_equal(test_folder_count(around.path), 0);
	unsetenv("TMPDIR");
	test_folder_remove(&around);
	al_catalog_destroy(catalog);
}

/* Each method of compress at a setting at which nothing may be lost. */
static void test_identities(void **state)
{
	struct al_catalog *catalog = al_catalog_create();

	(void)state;
	for (size_t i = 0; i < al_n_identities; i++) {
		double difference;
		struct al_error err;
		must(al_identity_run(&al_identities[i], catalog, 1, &difference, &err), &err);
		if (!(difference <= AL_PROOF_TOLERANCE))
			fail_msg("%s: %g", al_identities[i].id, difference);
	}
	al_catalog_destroy(catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_what_is_not_so),
		cmocka_unit_test(test_identities),
		cmocka_unit_test(test_leftovers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
