// Group A: labelled entities per chain, the secret behind download links, and one first funding per address.
import type { Migration } from '../state.ts'

export const migration: Migration = {
  id: 2,
  name: 'explorer',
  up: ({ bytes, strict, clustered }) => [
    `create table labels (
        chain text not null,
        slug text not null,
        name text not null,
        description text not null,
        notes text not null,
        updated_unix bigint not null,
        primary key (chain, slug)
      ) ${clustered}`,
    // One row per chain that has labels: its revision moves with every change, so that finished lists can be kept.
    `create table label_lists (
        chain text primary key,
        revision bigint not null,
        entries bigint not null
      ) ${strict}`,
    `create table explorer_secrets (
        name text primary key,
        secret ${bytes} not null
      ) ${strict}`,
    // Addresses and hashes as bytes: half the size of their text, which counts with millions of rows.
    `create table fundings (
        chain text not null,
        address ${bytes} not null,
        block bigint not null,
        tx_index bigint not null,
        position bigint not null,
        time_unix bigint not null,
        funder ${bytes} not null,
        tx ${bytes} not null,
        value_wei text not null,
        primary key (chain, address)
      ) ${clustered}`,
    // How far each chain is known to go: the number after its newest final block. Coverage is held against it.
    `create table chain_heads (
        chain text primary key,
        final_until bigint not null,
        -- When a node last confirmed that it is the end while every block up to there was read; 0: never.
        confirmed_ms bigint not null default 0
      ) ${strict}`,
  ],
}
