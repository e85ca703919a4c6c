/* OpenBLAS's kernels: which one a processor should have, and the test of the one that runs. */
#include "unit.h"

#include "linalg/kernel.h"

static void chooses_what_the_processor_has(void **state)
{
	static const struct {
		const char *own, *version;
		enum al_cpu_level level;
		const char *better;
	} cases[] = {
		{"Prescott", "0.3.21", AL_CPU_AVX512, "SkylakeX"},
		{"Prescott", "0.3.21", AL_CPU_AVX2, "Haswell"},
		{"Prescott", "0.3.21", AL_CPU_AVX, "Sandybridge"},
		{"Prescott", "0.3.21", AL_CPU_SSE42, "Nehalem"},
		{"Prescott", "0.3.21", AL_CPU_SSE3, NULL},
		{"Core2", "0.3.21", AL_CPU_SSE3, NULL},
		{"Prescott", "0.3.20", AL_CPU_AVX512, "Haswell"},
		{"Prescott", "0.3.21.dev", AL_CPU_AVX512, "SkylakeX"},
		{"Prescott", "0.3.9", AL_CPU_AVX512, "Haswell"},
		{"Prescott", "0.4.0", AL_CPU_AVX512, "SkylakeX"},
		{"Prescott", "", AL_CPU_AVX512, "Haswell"},
		{"Haswell", "0.3.21", AL_CPU_AVX512, "SkylakeX"},
		{"Haswell", "0.3.20", AL_CPU_AVX512, NULL},
		{"Zen", "0.3.21", AL_CPU_AVX2, NULL},
		{"Excavator", "0.3.21", AL_CPU_AVX2, "Haswell"},
		{"SkylakeX", "0.3.21", AL_CPU_AVX512, NULL},
		{"Cooperlake", "0.3.21", AL_CPU_AVX512, NULL},
		{"SapphireRapids", "0.3.25", AL_CPU_AVX512, NULL},
		{"Some2030", "0.3.40", AL_CPU_AVX512, NULL},
		{"neoversen1", "0.3.21", AL_CPU_SSE3, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *better = al_kernel_better(cases[i].own, cases[i].version,
			cases[i].level);
		assert_true(!better == !cases[i].better);
		if (better)
			assert_string_equal(better, cases[i].better);
	}
}

static void steps_down_to_the_last(void **state)
{
	static const char *const steps[] = {"SkylakeX", "Haswell", "Sandybridge", "Nehalem",
		"Prescott"};
	const char *kernel = "Cooperlake";

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		kernel = al_kernel_below(kernel, "0.3.21", AL_CPU_AVX512);
		assert_non_null(kernel);
		assert_string_equal(kernel, steps[i]);
	}
	assert_null(al_kernel_below(kernel, "0.3.21", AL_CPU_AVX512));
	assert_string_equal(al_kernel_below("Zen", "0.3.21", AL_CPU_AVX2), "Haswell");
	assert_string_equal(al_kernel_below("Cooperlake", "0.3.10", AL_CPU_AVX512), "Haswell");
}

static void computes_right(void **state)
{
	struct al_error err = {0};

	(void)state;
	if (!al_kernel_check(&err))
		fail_msg("%s", err.message);
}

static void knows_itself(void **state)
{
	char version[16];

	(void)state;
	assert_true(al_blas_kernel()[0]);
	assert_true(al_blas_version(version)[0] >= '0' && version[0] <= '9');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chooses_what_the_processor_has),
		cmocka_unit_test(steps_down_to_the_last),
		cmocka_unit_test(computes_right),
		cmocka_unit_test(knows_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
