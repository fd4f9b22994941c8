#include "store/store.h"

namespace headway::store {

std::string_view role_name(Role role) {
  switch (role) {
    case Role::ingest:
      return "ingest";
    case Role::read:
      return "read";
    case Role::admin:
      return "admin";
  }
  return "";
}

std::optional<Role> role_of(std::string_view name) {
  for (const Role role : {Role::ingest, Role::read, Role::admin}) {
    if (role_name(role) == name) return role;
  }
  return {};
}

std::optional<Role> role_of(std::int64_t number) {
  for (const Role role : {Role::ingest, Role::read, Role::admin}) {
    if (static_cast<std::int64_t>(role) == number) return role;
  }
  return {};
}

}  // namespace headway::store
