/* Distributions of statistics. */
#pragma once

/* The probability that Student's t with so many degrees of freedom is as far from zero as `t`, on
 * either side. */
double al_students_t_chance(double t, double freedom);
