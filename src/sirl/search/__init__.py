"""Where trees come from: genotypes, the grammar, a population, and its evolution (Algorithm 1)."""
