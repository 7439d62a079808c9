// The wallets of this browser. Wallets announce themselves (EIP-6963), so several can be used side by side. A wallet that
// only sets `window.ethereum` (EIP-1193) is used if none announces itself.
import { useEffect, useState } from 'preact/compat'
import { addWallet, type Provider, parseAnnouncement, type Wallet } from './announced-wallets.ts'

export interface Wallets {
  readonly wallets: readonly Wallet[]
  /** Undefined: this browser has no wallet. */
  readonly wallet: Wallet | undefined
  readonly choose: (id: string) => void
}

export function useWallets(): Wallets {
  const [announced, setAnnounced] = useState<readonly Wallet[]>([])
  const [chosenId, choose] = useState('')
  useEffect(() => {
    const add = ({ detail }: CustomEventInit<unknown>) => {
      const wallet = parseAnnouncement(detail)
      if (wallet) setAnnounced((known) => addWallet(known, wallet))
    }
    window.addEventListener('eip6963:announceProvider', add as EventListener)
    // Wallets that were loaded before this page announce themselves again.
    window.dispatchEvent(new Event('eip6963:requestProvider'))
    return () => window.removeEventListener('eip6963:announceProvider', add as EventListener)
  }, [])
  const wallets = announced.length > 0 ? announced : injectedWallet()
  return { wallets, wallet: wallets.find(({ id }) => id === chosenId) ?? wallets[0], choose }
}

function injectedWallet(): readonly Wallet[] {
  const { ethereum } = window as { ethereum?: Provider }
  return ethereum === undefined ? [] : [{ id: 'injected', name: 'wallet', provider: ethereum }]
}
