// Every migration, in order. A landed migration is never edited; a change is a new number at the end.
import type { FactsMigration } from './facts.ts'
import { migration as keys } from './migrations/0001-keys.ts'
import { migration as explorer } from './migrations/0002-explorer.ts'
import { migration as fx } from './migrations/0003-fx.ts'
import { migration as validators } from './migrations/0004-validators.ts'
import { migration as markets } from './migrations/0005-markets.ts'
import { migration as coverage } from './migrations/0006-coverage.ts'
import { migration as evm } from './migrations/0007-evm.ts'
import { migration as marketHistory } from './migrations/0008-market-history.ts'
import { migration as fxDesk } from './migrations/0009-fx-desk.ts'
import { migration as adminKeys } from './migrations/0010-admin-keys.ts'
import { migration as labelRegistry } from './migrations/0011-label-registry.ts'
import { migration as quotesAge } from './migrations/0012-quotes-age.ts'
import { migration as entityHistory } from './migrations/0013-entity-history.ts'
import { migration as consoleAccess } from './migrations/0014-console.ts'
import { migration as marketSearch } from './migrations/0015-market-search.ts'
import { migration as deposits } from './migrations/0017-deposits.ts'
import { migration as receiptKeys } from './migrations/0018-receipt-keys.ts'
import { migration as validatorSearch } from './migrations/0019-validator-search.ts'
import { migration as labelStage } from './migrations/0020-label-stage.ts'
import { migration as leases } from './migrations/0021-leases.ts'
import { migration as marketKeyframes } from './migrations/0024-market-keyframes.ts'
import { migration as marketFeedsAsOf } from './migrations/0025-market-feeds-as-of.ts'
import { migration as blockSeams } from './migrations/0026-block-seams.ts'
import { migration as duties } from './migrations/facts-0001-duties.ts'
import { migration as dutiesCoverage } from './migrations/facts-0002-coverage.ts'
import { migration as beacon } from './migrations/facts-0003-beacon.ts'
import { migration as audits } from './migrations/facts-0004-audits.ts'
import { migration as watched } from './migrations/facts-0005-watched.ts'
import { migration as lapses } from './migrations/facts-0006-lapses.ts'
import { migration as windows } from './migrations/facts-0007-windows.ts'
import type { Migration } from './state.ts'

/** Numbers must not have gaps. */
const unused = (id: number): Migration => ({ id, name: `unused-${id}`, up: () => [] })

export const stateMigrations: readonly Migration[] = [
  keys,
  explorer,
  fx,
  validators,
  markets,
  coverage,
  evm,
  marketHistory,
  fxDesk,
  adminKeys,
  labelRegistry,
  quotesAge,
  entityHistory,
  consoleAccess,
  marketSearch,
  unused(16),
  deposits,
  receiptKeys,
  validatorSearch,
  labelStage,
  leases,
  unused(22),
  unused(23),
  marketKeyframes,
  marketFeedsAsOf,
  blockSeams,
]
export const factsMigrations: readonly FactsMigration[] = [
  duties,
  dutiesCoverage,
  beacon,
  audits,
  watched,
  lapses,
  windows,
]
