// A shelf that a collector keeps (`headway serve`, docs/serve.md): archives go there and come back
// in pieces over HTTP. A piece that was cut off is sent again, and an upload goes on from where the
// collector says that it is.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "cache/shelf.h"
#include "net/http.h"

namespace headway::cache {

// "http://host:8743", perhaps with a path behind it.
[[nodiscard]] bool is_collector_place(std::string_view text);

class HttpShelf final : public Shelf {
 public:
  // `url` without a slash at its end; `token` may be empty.
  HttpShelf(std::unique_ptr<net::Transport> transport, std::string url, std::string token,
            std::chrono::milliseconds first_pause = std::chrono::milliseconds(200))
      : transport_(std::move(transport)),
        url_(std::move(url)),
        token_(std::move(token)),
        first_pause_(first_pause) {}
  base::Result<std::vector<Shelved>> list(const std::string& folder) override;
  base::Result<bool> put(const std::string& path, const std::string& name) override;
  base::Result<std::string> fetch(const Shelved& one, const std::string& scratch) override;
  base::Result<Binding> binding_of(const Shelved& one) override;
  base::Status remove(const std::string& name) override;
  [[nodiscard]] std::string place(const std::string& name) const override {
    return url_ + "/" + name;
  }

 private:
  struct Extent {
    std::uint64_t total = 0;
    std::string tag;  // of the file; all pieces have the same
  };
  // Until there is an answer that says more than "later".
  // `tries`: how often it was asked.
  base::Result<net::HttpAnswer> ask(net::HttpRequest request, const std::string& what,
                                    int* tries = nullptr) const;
  // From there on, as much as fits. With a tag, of that very file.
  base::Status read(const std::string& name, std::uint64_t offset, std::span<std::byte> into,
                    Extent& extent) const;

  const std::unique_ptr<net::Transport> transport_;
  const std::string url_, token_;
  const std::chrono::milliseconds first_pause_;  // before it is asked again
};

}  // namespace headway::cache
