{-# LANGUAGE OverloadedStrings #-}

-- | Echo and stamp servers with websockets.
module Main (main) where

import Control.Concurrent (setNumCapabilities)
import Control.Exception (IOException, catch)
import Control.Monad (forever, when)
import Data.Aeson (decode, encode, object, withObject, (.:), (.=))
import Data.Aeson.Types (parseMaybe)
import qualified Data.ByteString.Char8 as Strict
import qualified Data.ByteString.Lazy as Lazy
import qualified Data.ByteString.Lazy.Char8 as Char8
import Data.Int (Int64)
import Data.Maybe (fromMaybe)
import Data.Time.Clock.POSIX (getPOSIXTime)
import Data.Word (Word64)
import GHC.Clock (getMonotonicTimeNSec)
import qualified Network.WebSockets as WS
import System.Environment (getArgs, lookupEnv)
import System.Exit (ExitCode (..), exitWith)
import System.IO (BufferMode (..), hPutStrLn, hSetBuffering, stderr, stdout)
import System.Posix.Process (exitImmediately)
import System.Posix.Signals (Handler (..), installHandler, sigINT, sigTERM)
import Text.Read (readMaybe)

-- | What the environment asks for.
data Knobs = Knobs
  { deflate :: Bool,
    logMessages :: Bool,
    delayNs :: Word64,
    threads :: Int
  }

readKnobs :: IO Knobs
readKnobs =
  Knobs
    <$> oneOf "FEEDBENCH_DEFLATE" "off" "on"
    <*> oneOf "FEEDBENCH_LOG_MESSAGES" "false" "true"
    <*> (fromInteger <$> wholeNumber "FEEDBENCH_DELAY_NS" 0 0)
    <*> (fromInteger <$> wholeNumber "FEEDBENCH_THREADS" 1 1)

-- | Whether the variable has the second value rather than the usual one.
oneOf :: String -> String -> String -> IO Bool
oneOf variable usual other = do
  value <- fromMaybe usual <$> lookupEnv variable
  if value `elem` [usual, other]
    then pure (value == other)
    else failWith (variable <> " is " <> show value <> ": say " <> usual <> " or " <> other)

wholeNumber :: String -> Integer -> Integer -> IO Integer
wholeNumber variable usual least = do
  value <- fromMaybe (show usual) <$> lookupEnv variable
  case readMaybe value of
    Just number | number >= least -> pure number
    _ -> failWith (variable <> " is " <> show value <> ": say a whole number from " <> show least <> " on")

failWith :: String -> IO a
failWith problem = hPutStrLn stderr problem >> exitWith (ExitFailure 1)

-- | Does what the knobs ask for between a message and its answer; usually nothing.
beforeAnswer :: Knobs -> Lazy.ByteString -> IO ()
beforeAnswer knobs message = do
  when (logMessages knobs) $ Char8.putStrLn message
  when (delayNs knobs > 0) $ getMonotonicTimeNSec >>= spin
  where
    spin start = do
      now <- getMonotonicTimeNSec
      when (now - start < delayNs knobs) $ spin start

content :: WS.DataMessage -> Lazy.ByteString
content (WS.Text bytes _) = bytes
content (WS.Binary bytes) = bytes

serveEchoes :: Knobs -> WS.Connection -> IO ()
serveEchoes knobs connection = forever $ do
  message <- WS.receiveDataMessage connection
  beforeAnswer knobs (content message)
  WS.sendDataMessage connection message

serveStamps :: Knobs -> WS.Connection -> IO ()
serveStamps knobs connection = answer 0
  where
    answer :: Int64 -> IO ()
    answer count = do
      time <- getPOSIXTime
      WS.sendTextData connection . encode $
        object ["c" .= count, "ts" .= (floor time :: Int64)]
      message <- content <$> WS.receiveDataMessage connection
      beforeAnswer knobs message
      case decode message >>= parseMaybe (withObject "stamp" (.: "c")) of
        Just next -> answer next
        Nothing -> WS.sendCloseCode connection unsupportedData ("" :: Lazy.ByteString)
    unsupportedData = 1003

application :: Knobs -> WS.ServerApp
application knobs pending =
  case Strict.takeWhile (/= '?') (WS.requestPath (WS.pendingRequest pending)) of
    "/echo" -> WS.acceptRequest pending >>= serveEchoes knobs
    "/stamp" -> WS.acceptRequest pending >>= serveStamps knobs
    _ -> WS.rejectRequestWith pending notFound
  where
    notFound = WS.defaultRejectRequest {WS.rejectCode = 404, WS.rejectMessage = "Not Found"}

options :: Knobs -> String -> Int -> WS.ServerOptions
options knobs host port =
  WS.defaultServerOptions
    { WS.serverHost = host,
      WS.serverPort = port,
      WS.serverConnectionOptions =
        WS.defaultConnectionOptions
          { WS.connectionCompressionOptions =
              if deflate knobs
                then WS.PermessageDeflateCompression WS.defaultPermessageDeflate
                else WS.NoCompression
          }
    }

main :: IO ()
main = do
  hSetBuffering stdout LineBuffering
  knobs <- readKnobs
  arguments <- getArgs
  (host, port) <- case arguments of
    ["--host", host, "--port", number] | Just port <- readMaybe number -> pure (host, port)
    _ -> failWith "usage: server --host HOST --port PORT"
  mapM_ (\signal -> installHandler signal (Catch (exitImmediately ExitSuccess)) Nothing) [sigTERM, sigINT]
  setNumCapabilities (threads knobs)
  WS.runServerWithOptions (options knobs host port) (application knobs)
    `catch` \problem ->
      failWith ("cannot listen on " <> host <> ":" <> show port <> ": " <> show (problem :: IOException))
