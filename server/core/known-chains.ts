// The beacon chains that are known by name. Genesis time and root identify a chain: two chains may share one of them.

export interface KnownChain {
  readonly genesisUnix: number
  readonly genesisRoot: string
  readonly executionChainId: string
}

export const knownChains = {
  mainnet: {
    genesisUnix: 1_606_824_023,
    genesisRoot: '0x4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95',
    executionChainId: '1',
  },
  hoodi: {
    genesisUnix: 1_742_213_400,
    genesisRoot: '0x212f13fc4df078b6cb7db228f1c8307566dcecf900867401a92023d7ba99cb5f',
    executionChainId: '560048',
  },
  holesky: {
    genesisUnix: 1_695_902_400,
    genesisRoot: '0x9143aa7c615a7f7115e2b6aac319c03529df8242ae705fba9df39b79c59fa8b1',
    executionChainId: '17000',
  },
  sepolia: {
    genesisUnix: 1_655_733_600,
    genesisRoot: '0xd8ea171f3c94aea21ebc42a1ed61052acf3f9209c00e4efbaaddac09ed9b8078',
    executionChainId: '11155111',
  },
} as const satisfies Record<string, KnownChain>

/** The name of a chain; undefined: it is not known. */
export const nameOfChain = ({
  genesisUnix,
  genesisRoot,
}: Pick<KnownChain, 'genesisUnix' | 'genesisRoot'>): string | undefined =>
  Object.entries<KnownChain>(knownChains).find(
    ([, known]) => known.genesisUnix === genesisUnix && known.genesisRoot === genesisRoot,
  )?.[0]
