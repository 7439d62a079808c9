// The choice of a wallet. Nothing is shown unless there are several.
import { Choice } from '../../parts/controls.tsx'
import type { Wallets } from './use-wallets.ts'

export function WalletChoice({ wallets: { wallets, wallet, choose } }: { readonly wallets: Wallets }) {
  if (wallet === undefined || wallets.length < 2) return null
  const nameOf = (id: string) => wallets.find((other) => other.id === id)?.name ?? id
  return (
    <Choice label="Wallet" value={wallet.id} options={wallets.map(({ id }) => id)} labels={nameOf} onChoose={choose} />
  )
}
