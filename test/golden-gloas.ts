// The scenarios of the golden files that cross the fork to Gloas: payloads that builders and proposers withhold, payments.
import { gloasFrom } from '#simulator/beacon/plan.ts'
import { calm, catchUp, fill, openSimulated, type Scenario } from './golden-simulated.ts'
import { simulateNetwork } from './simulator/simulate-network.ts'

/** The fork is in the middle of a chain day, and a UTC day ends after it. */
const gloasWorld = () => ({
  ...simulateNetwork('golden/gloas', {
    ...{ ...calm, hasExecution: true, epochs: 40, slotsPerEpoch: 8, slotSeconds: 900, validators: 32 },
    ...{ missed: 0.08, orphaned: 0.03, slashing: 0.01, balanceChanges: 0.08, forkEpochs: gloasFrom(14) },
  }),
  genesisUnix: Date.UTC(2026, 8, 28, 9, 30, 11) / 1000,
})
const gloasNetwork = { epochsPerHour: 2, epochsPerDay: 6 }
const few = [2, 11, 29] as const

const wholeStates: Scenario = {
  name: 'a chain across the fork to Gloas',
  async run(check) {
    await using at = await openSimulated(gloasWorld(), { network: gloasNetwork, few })
    await catchUp(at.context, 'hoodi')
    await check('gloas', 'read', at.server, [at.plan])
  },
}

const fromTheMiddle: Scenario = {
  name: 'a chain across the fork to Gloas from the middle, with epochs filled in later',
  isLong: true,
  async run(check) {
    const network = { ...gloasNetwork, fromEpoch: 20 }
    await using at = await openSimulated(gloasWorld(), { network, few })
    await catchUp(at.context, 'hoodi')
    await fill(at.context, 'hoodi', { from: 11, until: 16 })
    await fill(at.context, 'hoodi', { from: 0, until: 100 })
    await check('gloas', 'read', at.server, [at.plan])
  },
}

export const gloasScenarios: readonly Scenario[] = [wholeStates, fromTheMiddle]
