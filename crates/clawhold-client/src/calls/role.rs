//! Calls about roles.

use clawhold_api::page::PageQuery;
use clawhold_api::role::{
    Acquire, Acquired, AskHandOver, HandOver, NextHolder, Release, Released, Role, RoleHistory,
    SetRole, Withdraw,
};
use clawhold_api::{Done, routes};
use reqwest::Method;

use crate::call::Call;
use crate::error::ClientError;
use crate::pages::Pages;
use crate::transport::{Client, Written};

impl Client {
    /// Lists the roles.
    #[must_use]
    pub fn roles(&self, wanted: &PageQuery) -> Pages<Role> {
        Pages::new(self, routes::ROLES, wanted)
    }

    /// Returns one role.
    ///
    /// # Errors
    /// As every call.
    pub async fn role(&self, role: &str) -> Result<Role, ClientError> {
        self.read(&Call::get(&routes::fill(routes::ROLE, role), "")).await
    }

    /// Returns what became of a role, oldest first.
    ///
    /// # Errors
    /// As every call.
    pub async fn role_history(&self, role: &str) -> Result<RoleHistory, ClientError> {
        self.read(&Call::get(&routes::fill(routes::ROLE_HISTORY, role), "")).await
    }

    /// Makes a role or sets what is known of it.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_role(&self, role: &str, set: &SetRole) -> Result<Written<Role>, ClientError> {
        let path = routes::fill(routes::ROLE, role);
        self.change(&self.write(Method::PUT, &path, Some(set))?).await
    }

    /// Removes a role; its token is remembered.
    ///
    /// # Errors
    /// As every call.
    pub async fn remove_role(&self, role: &str) -> Result<Written<Done>, ClientError> {
        let path = routes::fill(routes::ROLE, role);
        self.change(&self.write::<()>(Method::DELETE, &path, None)?).await
    }

    /// Asks for a role once. [`crate::Session::acquire`] goes on until it is told, and confirms.
    ///
    /// # Errors
    /// As every call; `role_held` when another session holds it.
    pub async fn acquire(
        &self,
        role: &str,
        acquire: &Acquire,
    ) -> Result<Written<Acquired>, ClientError> {
        let path = routes::fill(routes::ROLE_ACQUIRE, role);
        let call = self.write(Method::POST, &path, Some(acquire))?;
        self.change(&call.waiting(acquire.wait_ms)).await
    }

    /// Stops waiting for a role.
    ///
    /// # Errors
    /// As every call; `not_candidate` when the session does not wait.
    pub async fn withdraw(
        &self,
        role: &str,
        withdraw: &Withdraw,
    ) -> Result<Written<Done>, ClientError> {
        self.post(&routes::fill(routes::ROLE_WITHDRAW, role), withdraw).await
    }

    /// Gives a role up.
    ///
    /// # Errors
    /// As every call; `stale_token` when it was overtaken.
    pub async fn release(
        &self,
        role: &str,
        release: &Release,
    ) -> Result<Written<Released>, ClientError> {
        self.post(&routes::fill(routes::ROLE_RELEASE, role), release).await
    }

    /// Gives a role to a candidate in one entry.
    ///
    /// # Errors
    /// As every call; `not_candidate` or `no_candidate` when there is nobody to take it.
    pub async fn hand_over(
        &self,
        role: &str,
        hand_over: &HandOver,
    ) -> Result<Written<NextHolder>, ClientError> {
        self.post(&routes::fill(routes::ROLE_HAND_OVER, role), hand_over).await
    }

    /// Asks the holder to finish and hand over.
    ///
    /// # Errors
    /// As every call.
    pub async fn ask_hand_over(
        &self,
        role: &str,
        ask: &AskHandOver,
    ) -> Result<Written<Role>, ClientError> {
        self.post(&routes::fill(routes::ROLE_ASK_HAND_OVER, role), ask).await
    }
}
