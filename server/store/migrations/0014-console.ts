// Who may use the console's operator side: one-time links and the sessions they were exchanged for. Neither token is here,
// only its digest (decision 0126).
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 14,
  name: 'console',
  up: ({ bytes, strict }) =>
    ['console_links', 'console_sessions'].map(
      (name) => `create table ${name} (
        id text primary key,
        digest ${bytes} not null,
        created_ms bigint not null,
        expires_ms bigint not null
      ) ${strict}`,
    ),
}
