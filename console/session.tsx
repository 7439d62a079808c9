// The key that the pages call endpoints with, and the operator's session. All tabs share a pasted key until they are
// closed (shared/tab-key.ts). An operator gets a key from the server, which ends with the session. A visitor of the demo
// gets the demo key.
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'preact/compat'
import { type Client, createClient } from '#api/client/client.ts'
import type { Group } from '#api/contract/routes.ts'
import type { ConsoleSession } from '#shared/console-calls.ts'
import { refusedEvent, withRefusalNotice } from './http.ts'
import { OperatorError, operator } from './operator.ts'
import { needsDemoKey, openTabKey, readTabKey, type TabKey } from './shared/tab-key.ts'

type Session = Pick<ConsoleSession, 'signedIn' | 'expiresAt'> &
  Partial<Pick<ConsoleSession, 'groups' | 'chains' | 'networks' | 'demoKey'>>

interface ConsoleContext {
  readonly key: string
  readonly client: Client
  readonly session: Session
  /** True once the server has reported whether there is a session. */
  readonly isReady: boolean
  /** The session expired, or was ended from elsewhere. */
  readonly hasEnded: boolean
  setKey(key: string): void
  signIn(token: string): Promise<void>
  signOut(): Promise<void>
}

const retryMs = 3000
const Context = createContext<ConsoleContext | undefined>(undefined)

export function useConsoleContext(): ConsoleContext {
  const context = useContext(Context)
  if (!context) throw new Error('useConsoleContext must be used inside ConsoleContextProvider')
  return context
}

/** Base URLs of the interfaces that have a host name of their own. They use the same port. */
function basesOf({ groups = {} as ConsoleSession['groups'] }: Session): Partial<Record<Group, string>> {
  const { protocol, port } = window.location
  const withHost = Object.entries(groups).filter(([, { host }]) => host !== '')
  return Object.fromEntries(withHost.map(([group, { host }]) => [group, `${protocol}//${host}${port && `:${port}`}`]))
}

/** The session's key. Empty if it was revoked: the operator's pages work without it. */
async function fetchSessionKey(): Promise<string> {
  try {
    return (await operator.ownKey()).key
  } catch (error) {
    if (error instanceof OperatorError && error.code === 'console.key') return ''
    throw error
  }
}

/** Whether the server created this key for a session. */
const isSessionKey = (key: string): boolean => key.split(':')[1]?.startsWith('console-') ?? false

/** Requests are refused for many reasons, so ask the server whether the session has ended. */
function useSessionEnd(signedIn: boolean, onEnd: (session: Session) => void): void {
  const latestOnEnd = useRef(onEnd)
  latestOnEnd.current = onEnd
  useEffect(() => {
    if (!signedIn) return
    let [isChecking, isCancelled] = [false, false]
    const check = async () => {
      if (isChecking) return
      isChecking = true
      const session = await operator.session().catch(() => undefined)
      isChecking = false
      // Ignore a response that arrives after the next sign-in: it is about the previous session.
      if (session && !session.signedIn && !isCancelled) latestOnEnd.current(session)
    }
    const onRefused = () => void check()
    window.addEventListener(refusedEvent, onRefused)
    return () => {
      isCancelled = true
      window.removeEventListener(refusedEvent, onRefused)
    }
  }, [signedIn])
}

export function ConsoleContextProvider({ children }: { readonly children: ReactNode }) {
  const [key, setKey] = useState(readTabKey)
  const tabKey = useRef<TabKey>()
  const [session, setSession] = useState<Session>({ signedIn: false })
  const [isReady, setReady] = useState(false)
  const [hasEnded, setEnded] = useState(false)
  /** Whether the pages have signed in or out. A slower response to an earlier request says what was true before. */
  const hasChanged = useRef(false)

  useEffect(() => {
    const opened = openTabKey(setKey)
    tabKey.current = opened
    return () => opened.close()
  }, [])

  const keepKey = useCallback((newKey: string) => {
    tabKey.current?.keep(newKey)
    setKey(newKey)
  }, [])
  const shareKey = useCallback((newKey: string) => {
    tabKey.current?.share(newKey)
    setKey(newKey)
  }, [])

  const applySession = useCallback(
    async (newSession: Session) => {
      const { signedIn, demoKey } = newSession
      if (signedIn && readTabKey() === '') keepKey(await fetchSessionKey())
      if (!signedIn && demoKey !== undefined && needsDemoKey(readTabKey())) keepKey(demoKey)
      if (signedIn) setEnded(false)
      setSession(newSession)
    },
    [keepKey],
  )

  /** For a session that began or ended: its key replaces that of all tabs. */
  const changeSession = useCallback(
    async (newSession: Session) => {
      keepKey('')
      await applySession(newSession)
      shareKey(readTabKey())
    },
    [keepKey, applySession, shareKey],
  )

  useEffect(() => {
    let timer: number | undefined
    let isCancelled = false
    const load = async () => {
      try {
        const first = await operator.session()
        if (!hasChanged.current) await applySession(first)
      } catch {
        if (!isCancelled && !hasChanged.current) timer = window.setTimeout(load, retryMs)
      }
      // The public pages work without the operator's calls.
      setReady(true)
    }
    void load()
    return () => {
      isCancelled = true
      window.clearTimeout(timer)
    }
  }, [applySession])

  useSessionEnd(session.signedIn, (newSession) => {
    void (isSessionKey(readTabKey()) ? changeSession(newSession) : applySession(newSession))
    setEnded(true)
  })

  const context = useMemo<ConsoleContext>(
    () => ({
      key,
      client: createClient({
        baseUrl: window.location.origin,
        baseUrls: basesOf(session),
        ...(key !== '' && { key }),
        retries: 3,
        fetch: withRefusalNotice((...request) => fetch(...request)),
      }),
      session,
      isReady,
      hasEnded,
      setKey: shareKey,
      async signIn(token) {
        const newSession = await operator.signIn(token)
        hasChanged.current = true
        await changeSession(newSession)
      },
      async signOut() {
        const newSession = await operator.signOut()
        hasChanged.current = true
        await changeSession(newSession)
      },
    }),
    [key, session, isReady, hasEnded, shareKey, changeSession],
  )
  return <Context value={context}>{children}</Context>
}
