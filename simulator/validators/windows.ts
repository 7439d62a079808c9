// The hours and days of the demo networks. They are separate from the nodes, so that commands can read the data of a
// demo that is not running.
import type { Settings } from '#runtime/settings.ts'
import { epochsPerDay } from './behaviour.ts'

export const demoNetworks = ['mainnet', 'hoodi'] as const
export type DemoNetwork = (typeof demoNetworks)[number]

export const demoWindows = {
  mainnet: { epochsPerHour: epochsPerDay / 2, epochsPerDay },
  // 72 chain days are three real days.
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
