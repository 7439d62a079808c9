// The guarantees of every database engine, by the numbers in server/storage/state.ts.
import { describe } from 'node:test'
import { testCoverage } from './state-suite/coverage.ts'
import { testGroupedWrites } from './state-suite/grouped-writes.ts'
import { testLeases } from './state-suite/leases.ts'
import { testLimits } from './state-suite/limits.ts'
import { testMigrations } from './state-suite/migrations.ts'
import { testSeveralServers } from './state-suite/several-servers.ts'
import { testSnapshots } from './state-suite/snapshots.ts'
import type { CreateLocation } from './state-suite/store-location.ts'
import { testStoredQuotes } from './state-suite/stored-quotes.ts'
import { testTransactions } from './state-suite/transactions.ts'
import { testValues } from './state-suite/values.ts'
import { testVersion } from './state-suite/version.ts'

export function stateSuite(name: string, createLocation: CreateLocation): void {
  describe(`${name}: reading and writing`, () => testValues(createLocation))
  describe(`${name}: transactions`, () => testTransactions(createLocation))
  describe(`${name}: grouped writes`, () => testGroupedWrites(createLocation))
  describe(`${name}: snapshots`, () => testSnapshots(createLocation))
  describe(`${name}: version`, () => testVersion(createLocation))
  describe(`${name}: migrations`, () => testMigrations(createLocation))
  describe(`${name}: coverage`, () => testCoverage(createLocation))
  describe(`${name}: several servers`, () => testSeveralServers(createLocation))
  describe(`${name}: leases of several servers`, () => testLeases(createLocation))
  describe(`${name}: quotes of several servers`, () => testStoredQuotes(createLocation))
  describe(`${name}: limits and closing`, () => testLimits(createLocation))
}
