#pragma once

namespace danaus {

// How long the L2 cache should keep what a copy moves: no hint, until it needs the room, as long as it can.
enum class Cache { normal, stream, keep };

}  // namespace danaus
