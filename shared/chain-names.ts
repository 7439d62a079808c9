// Names of known chains and of their native coins, for texts. A name from the configuration takes precedence.

export const chainNames: Readonly<Record<string, readonly [name: string, coin: string]>> = {
  1: ['Ethereum', 'ETH'],
  10: ['OP Mainnet', 'ETH'],
  56: ['BNB Smart Chain', 'BNB'],
  100: ['Gnosis', 'xDAI'],
  137: ['Polygon', 'POL'],
  8453: ['Base', 'ETH'],
  42161: ['Arbitrum One', 'ETH'],
  43114: ['Avalanche', 'AVAX'],
  59144: ['Linea', 'ETH'],
  17000: ['Holesky', 'ETH'],
  560048: ['Hoodi', 'ETH'],
  11155111: ['Sepolia', 'ETH'],
}

/** `ETH`; `coins` if it is not known. */
export const coinOf = (chain: string): string => chainNames[chain]?.[1] ?? 'coins'
