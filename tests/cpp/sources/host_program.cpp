// A program without Python: loads a library of ops and runs some.
#include <opweave/compat.h>
#include <opweave/standalone.h>

int main(int, char** argv) {
  opweave::StandaloneLibrary library(argv[1]);
  auto a = torch::full({2, 3}, 2.0), b = torch::full({2, 3}, 4.0);
  auto result = library.call<at::Tensor>("extension_cpp::mymuladd", a, b, 1.5);
  std::printf("%s\n%g %lld\n", library.schema("extension_cpp::mymuladd").c_str(), result.data_ptr<float>()[5],
              static_cast<long long>(library.ops().size()));
  auto out = torch::zeros({2, 3});
  library.call<void>("extension_cpp::myadd_out", a, b, out);
  std::printf("%g\n", out.data_ptr<float>()[0]);
  for (auto fails : {+[](opweave::StandaloneLibrary& l, at::Tensor& x) { l.call<at::Tensor>("extension_cpp::mymul", x, torch::zeros({3})); },
                     +[](opweave::StandaloneLibrary& l, at::Tensor&) { l.call<void>("extension_cpp::nothing"); },
                     +[](opweave::StandaloneLibrary&, at::Tensor& x) { (x + x).sum(); }}) {
    try {
      fails(library, a);
    } catch (const c10::Error& e) {
      std::printf("%s: %s\n", e.kind().c_str(), e.what());
    }
  }
}
