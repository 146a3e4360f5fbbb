// Says lines through the C++ streams, joined with the C library's streams (the default) or not.
#include <iostream>

int main(int argc, char **)
{
    if (argc > 1)
        std::ios::sync_with_stdio(false);
    std::cerr << "cerr " << 42 << ' ' << 1.5 << std::endl;
    std::clog << "clog " << argc << std::endl;
    std::cerr << "E0000 check failed: a == b (" << 1 << " vs. " << 2 << ")\n";
    return 0;
}
