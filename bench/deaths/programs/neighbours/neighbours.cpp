// All-pairs neighbour search; keeps one slot per pair.
#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" double nearest_mean(const double *points, int64_t count) {
    std::vector<double> pairs(static_cast<std::size_t>(count) * static_cast<std::size_t>(count));
    double sum = 0.0;
    for (int64_t i = 0; i < count; ++i)
        for (int64_t j = 0; j < count; ++j) sum += pairs[i * count + j] = points[i] - points[j];
    return sum / static_cast<double>(count);
}
