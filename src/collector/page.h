// The page and what belongs to it, out of the binary itself: nothing is read from a disk, nothing
// comes from elsewhere, and a browser is told to see to that. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "net/http_server.h"

namespace headway::collector {

// `path` as it was asked for; "/openapi.json" is the description of the interface. What a person
// may have typed or bookmarked inside the page is the page; a file that is not there is 404.
[[nodiscard]] net::ServerAnswer page_answer(const std::string& path, std::string_view if_none_match,
                                            std::string_view accept_encoding);

}  // namespace headway::collector
