//! Calls about definitions: agents, commands, rules, routes, fixes, runbooks, channels, sources.

use clawhold_api::automation::definition::{
    AppendMessage, Backtest, Backtested, DefineQuery, Defined, Definition, DefinitionQuery,
    History, ResetFix, Revert, Test, Tested,
};
use clawhold_api::automation::transfer::{Definitions, ExportQuery, Import, Imported};
use clawhold_api::routes::automation as routes;
use clawhold_api::routes::fill;
use clawhold_api::{Done, Nothing, Noun};
use reqwest::Method;
use serde::Serialize;

use crate::call::{Call, query};
use crate::error::ClientError;
use crate::pages::Pages;
use crate::transport::{Client, Written};

impl Client {
    /// Lists the definitions of a kind.
    #[must_use]
    pub fn definitions(&self, noun: Noun, wanted: &DefinitionQuery) -> Pages<Definition> {
        Pages::new(self, routes::of(noun).all, wanted)
    }

    /// Returns one definition.
    ///
    /// # Errors
    /// As every call.
    pub async fn definition(&self, noun: Noun, name: &str) -> Result<Definition, ClientError> {
        self.read(&Call::get(&fill(routes::of(noun).one, name), "")).await
    }

    /// Adds a definition: the body is the one of its kind.
    ///
    /// # Errors
    /// As every call; `exists` when there is one of this name.
    pub async fn define<B: Serialize>(
        &self,
        noun: Noun,
        body: &B,
        how: DefineQuery,
    ) -> Result<Written<Defined>, ClientError> {
        let path = with_query(routes::of(noun).all, &query(&how));
        self.post(&path, body).await
    }

    /// Changes what a patch of its kind names.
    ///
    /// # Errors
    /// As every call; `wrong_version` when the patch names a version that is not in force.
    pub async fn redefine<B: Serialize>(
        &self,
        noun: Noun,
        name: &str,
        patch: &B,
        how: DefineQuery,
    ) -> Result<Written<Defined>, ClientError> {
        let path = with_query(&fill(routes::of(noun).one, name), &query(&how));
        self.change(&self.write(Method::PATCH, &path, Some(patch))?).await
    }

    /// Removes a definition.
    ///
    /// # Errors
    /// As every call.
    pub async fn remove_definition(
        &self,
        noun: Noun,
        name: &str,
    ) -> Result<Written<Done>, ClientError> {
        let path = fill(routes::of(noun).one, name);
        self.change(&self.write::<()>(Method::DELETE, &path, None)?).await
    }

    /// Puts a definition in force.
    ///
    /// # Errors
    /// As every call.
    pub async fn enable(&self, noun: Noun, name: &str) -> Result<Written<Defined>, ClientError> {
        self.post(&fill(routes::of(noun).enable, name), &Nothing {}).await
    }

    /// Puts a definition out of force.
    ///
    /// # Errors
    /// As every call.
    pub async fn disable(&self, noun: Noun, name: &str) -> Result<Written<Defined>, ClientError> {
        self.post(&fill(routes::of(noun).disable, name), &Nothing {}).await
    }

    /// Puts an earlier version of a definition in force again.
    ///
    /// # Errors
    /// As every call.
    pub async fn revert(
        &self,
        noun: Noun,
        name: &str,
        to: u64,
    ) -> Result<Written<Defined>, ClientError> {
        self.post(&fill(routes::of(noun).revert, name), &Revert { to }).await
    }

    /// Tells what became of a definition.
    ///
    /// # Errors
    /// As every call.
    pub async fn definition_history(&self, noun: Noun, name: &str) -> Result<History, ClientError> {
        self.read(&Call::get(&fill(routes::of(noun).history, name), "")).await
    }

    /// Tries a definition.
    ///
    /// # Errors
    /// As every call.
    pub async fn test(&self, noun: Noun, name: &str, test: &Test) -> Result<Tested, ClientError> {
        let tested = self.post(&fill(routes::of(noun).test, name), test).await?;
        Ok(tested.reply)
    }

    /// Tells an agent something more with each job.
    ///
    /// # Errors
    /// As every call.
    pub async fn append_message(
        &self,
        agent: &str,
        append: &AppendMessage,
    ) -> Result<Written<Defined>, ClientError> {
        self.post(&fill(routes::AGENT_MESSAGES, agent), append).await
    }

    /// Plays the log again for an alert rule or an auto-fix. `noun` is one of these two.
    ///
    /// # Errors
    /// As every call.
    pub async fn backtest(
        &self,
        noun: Noun,
        name: &str,
        backtest: Backtest,
    ) -> Result<Backtested, ClientError> {
        let path = match noun {
            Noun::AlertRule => routes::ALERT_RULE_BACKTEST,
            Noun::AutoFix
            | Noun::Agent
            | Noun::Command
            | Noun::AlertRoute
            | Noun::Runbook
            | Noun::Channel
            | Noun::Source => routes::AUTO_FIX_BACKTEST,
        };
        let tested = self.post(&fill(path, name), &backtest).await?;
        Ok(tested.reply)
    }

    /// Forgets the failures and used-up limits of an auto-fix.
    ///
    /// # Errors
    /// As every call.
    pub async fn reset_fix(
        &self,
        name: &str,
        reset: &ResetFix,
    ) -> Result<Written<Definition>, ClientError> {
        self.post(&fill(routes::AUTO_FIX_RESET, name), reset).await
    }

    /// Returns the definitions as one document.
    ///
    /// # Errors
    /// As every call.
    pub async fn export(&self, wanted: &ExportQuery) -> Result<Definitions, ClientError> {
        self.read(&Call::get(routes::EXPORT, &query(wanted))).await
    }

    /// Makes definitions as in a document, all or none.
    ///
    /// # Errors
    /// As every call.
    pub async fn import(&self, import: &Import) -> Result<Written<Imported>, ClientError> {
        self.post(routes::IMPORT, import).await
    }
}

fn with_query(path: &str, query: &str) -> String {
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}
