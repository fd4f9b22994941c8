// Gives the precompiled headers (headway.cmake) a target to belong to. Nothing links it.
namespace {}
