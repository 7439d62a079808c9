// How the networks of the demo world are cut into hours and days. Apart from its nodes, for commands that look at a demo
// world which does not run at the moment.
import type { Settings } from '#runtime/settings.ts'
import { epochsPerDay } from './behaviour.ts'

export const demoWindows = {
  mainnet: { epochsPerHour: epochsPerDay / 2, epochsPerDay },
  // Hours are kept for a few real days; the chain's are short.
  hoodi: { epochsPerHour: 5, epochsPerDay: 15, hoursKeptDays: 72 },
} as const

export function withDemoWindows(settings: Settings): Settings {
  const { mainnet, hoodi, ...others } = settings.validators.networks
  const networks = {
    ...others,
    mainnet: { ...mainnet, ...demoWindows.mainnet },
    hoodi: { ...hoodi, ...demoWindows.hoodi },
  }
  return { ...settings, validators: { ...settings.validators, networks } }
}
